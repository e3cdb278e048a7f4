//go:build race

package scenario

// raced: runs take ten times as long.
const raced = true
