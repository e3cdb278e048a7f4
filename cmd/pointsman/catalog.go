package main

import "github.com/spf13/cobra"

func newCatalog(e *env) *cobra.Command {
	return noun("catalog", "Write, publish and compare catalogs",
		newCatalogFmt(e),
		newCatalogValidate(e),
		newCatalogCompile(e),
		newCatalogPlan(e),
		newCatalogPublish(e),
		newCatalogPull(e),
		newCatalogHistory(e),
		newCatalogShow(e),
		newCatalogDiff(e),
		newCatalogPin(e),
		newCatalogUnpin(e),
		newCatalogTag(e),
	)
}
