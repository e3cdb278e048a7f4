// Package simulate runs scenarios side by side, policies and seeds at once, and shows what came
// out: as a table, as JSON, as a page with plots. It decides the order and the form of results;
// never what happens in a run. The command line calls it, and the page of results is drawn by
// the same pictures.
package simulate
