package access

import (
	"slices"
	"strings"
)

// The roles. One that is empty is nobody's yet.
const (
	Nobody   = ""
	Client   = "client"   // subscribes to what its identity is entitled to, and reports
	Agent    = "agent"    // the same for those whom it attests, on its node
	Replica  = "replica"  // a replica of this control plane
	Reader   = "reader"   // sees all, changes nothing
	Operator = "operator" // publishes, pins, drains
	Admin    = "admin"    // says who may do what
)

// includes are the roles that a role may act in, beside itself.
var includes = map[string][]string{
	Nobody:   {},
	Client:   {},
	Agent:    {Client},
	Replica:  {Agent, Client, Reader},
	Reader:   {},
	Operator: {Reader},
	Admin:    {Operator, Reader, Replica, Agent, Client},
}

// Roles are all that can be given, the least first.
func Roles() []string { return []string{Client, Agent, Replica, Reader, Operator, Admin} }

// May tells whether a role may do what needs another.
func May(role, needs string) bool {
	return role == needs || needs == Nobody || slices.Contains(includes[role], needs)
}

const service = "/pointsman.v1."

// needs is the least role for each method that replicas serve: one that is not here nobody may call.
var needs = map[string]string{
	"SyncService/Sync": Client,

	"CatalogService/Validate": Reader,
	"CatalogService/Plan":     Reader,
	"CatalogService/Pull":     Reader,
	"CatalogService/History":  Reader,
	"CatalogService/Show":     Reader,
	"CatalogService/Diff":     Reader,
	"CatalogService/Publish":  Operator,
	"CatalogService/Pin":      Operator,
	"CatalogService/Unpin":    Operator,
	"CatalogService/Tag":      Operator,

	"FleetService/Status":         Reader,
	"FleetService/ListEndpoints":  Reader,
	"FleetService/ListClients":    Reader,
	"FleetService/ListBreakers":   Reader,
	"FleetService/WatchBreakers":  Reader,
	"FleetService/ListEvents":     Reader,
	"FleetService/Explain":        Reader,
	"FleetService/Drain":          Operator,
	"FleetService/Undrain":        Operator,
	"FleetService/SetOverride":    Operator,
	"FleetService/RemoveOverride": Operator,

	"OperatorService/WhoAmI":          Nobody, // whoever is known at all
	"OperatorService/ListTokens":      Reader,
	"OperatorService/ListRoles":       Reader,
	"OperatorService/ListRevocations": Reader,
	"OperatorService/ListAudit":       Reader,
	"OperatorService/VerifyAudit":     Reader,
	"OperatorService/Check":           Reader,
	"OperatorService/CreateToken":     Admin,
	"OperatorService/GrantRole":       Admin,
	"OperatorService/Revoke":          Admin,
	"OperatorService/Unrevoke":        Admin,
	"OperatorService/AdoptStore":      Admin,
}

// needed is the least role for a method by its full name.
func needed(method string) (role string, known bool) {
	name, ours := strings.CutPrefix(method, service)
	role, known = needs[name]
	return role, ours && known
}
