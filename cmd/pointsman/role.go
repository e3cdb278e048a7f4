package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/controlplane/access"
	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newRole(e *env) *cobra.Command {
	return noun("role", "Say who may do what",
		newRoleGrant(e), newRoleTake(e), newRoleList(e), newRoleRevoke(e), newRoleUnrevoke(e), newRoleWhoami(e))
}

func newRoleGrant(e *env) *cobra.Command {
	var request pb.GrantRoleRequest
	cmd := &cobra.Command{
		Use:   "grant IDENTITY ROLE [-node NAME]",
		Short: "Give an identity a role, in the place of the one it had",
		Long: `Gives an identity a role. Identities are spiffe://…, cn/NAME of certificates, token/NAME of tokens and uid/NUMBER of users
at a socket; a last "/*" stands for all that are one step below. docs/security.md says what each role may do. An agent
may speak for the node that its certificate or token is named after, or for -node.`,
		Example: `  pointsman role grant spiffe://example.org/ns/ml/sa/agent agent -node node-7
  pointsman role grant "spiffe://example.org/pointsman/agent/*" agent
  pointsman role grant cn/ada operator`,
		Args: takes(2, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return access.Roles(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Identity, request.Role = args[0], args[1]
			answer, err := call(cmd.Context(), e, services.GrantRole, &request)
			return e.done(request.Identity+" has role "+request.Role, answer, err)
		},
	}
	cmd.Flags().StringVar(&request.Node, "node", "", "the only node that it may speak for")
	return cmd
}

func newRoleTake(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "take IDENTITY",
		Short:   "Take back the role that an identity was given",
		Long:    "Takes a role back: at once for new calls, within 30 s on streams that are open. A token falls back to the role it was made with.",
		Example: "  pointsman role take cn/ada",
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := call(cmd.Context(), e, services.GrantRole, &pb.GrantRoleRequest{Identity: args[0]})
			return e.done(args[0]+" has no role of its own", answer, err)
		},
	}
}

// joined is one JSON object of several answers.
func joined(answers ...proto.Message) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, a := range answers {
		data, err := protoJSON(a)
		if err == nil {
			err = json.Unmarshal(data, &all)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func newRoleList(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List roles that were granted, and what was revoked",
		Example: "  pointsman role list",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			roles, err := call(cmd.Context(), e, services.ListRoles, &pb.ListRolesRequest{})
			if err != nil {
				return err
			}
			revoked, err := call(cmd.Context(), e, services.ListRevocations, &pb.ListRevocationsRequest{})
			if err != nil {
				return err
			}
			if e.json {
				all, err := joined(roles, revoked)
				if err != nil {
					return err
				}
				return e.printData(all)
			}
			printRoles(e.stdout, roles.Bindings)
			printRevocations(e.stdout, revoked.Revocations)
			return nil
		},
	}
}

func printRoles(w io.Writer, bindings []*pb.RoleBinding) {
	if len(bindings) == 0 {
		fmt.Fprintln(w, "no roles were granted: this host's own user and root are admins; `pointsman role grant` makes others")
		return
	}
	rows := [][]string{{"IDENTITY", "ROLE", "NODE", "SINCE", "BY"}}
	for _, b := range bindings {
		rows = append(rows, []string{b.Identity, b.Role, b.Node, moment(b.Time), b.Actor})
	}
	table(w, rows)
}

func printRevocations(w io.Writer, revoked []*pb.Revocation) {
	if len(revoked) == 0 {
		return
	}
	fmt.Fprintln(w)
	rows := [][]string{{"REVOKED", "SINCE", "BY", "REASON"}}
	for _, r := range revoked {
		rows = append(rows, []string{r.Subject, moment(r.Time), r.Actor, r.Reason})
	}
	table(w, rows)
}

func newRoleRevoke(e *env) *cobra.Command {
	return e.revokes(&cobra.Command{
		Use:   "revoke IDENTITY -reason WHY",
		Short: "Revoke an identity, whatever role it has",
		Long: `Ends what an identity may do: at once for new calls, within 30 s on streams that are open. What agents attest it for
is ended too.`,
		Example: `  pointsman role revoke spiffe://example.org/ns/ml/sa/chat -reason "key was copied"`,
	})
}

// revokes makes a command revoke what it is given: identities and tokens are named the same way.
func (e *env) revokes(cmd *cobra.Command) *cobra.Command {
	var request pb.RevokeRequest
	cmd.Args = takes(1, 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.why(cmd, &request.Reason); err != nil {
			return err
		}
		request.Subject = args[0]
		answer, err := call(cmd.Context(), e, services.Revoke, &request)
		return e.done(request.Subject+" is revoked", answer, err)
	}
	cmd.Flags().StringVar(&request.Reason, "reason", "", "why; asked for on a terminal")
	return cmd
}

func newRoleUnrevoke(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "unrevoke IDENTITY|ID",
		Short:   "Take a revocation back",
		Example: "  pointsman role unrevoke cn/ada",
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := call(cmd.Context(), e, services.Unrevoke, &pb.UnrevokeRequest{Subject: args[0]})
			return e.done(args[0]+" is not revoked any more", answer, err)
		},
	}
}

func newRoleWhoami(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "whoami",
		Short:   "Say who the control plane takes you for",
		Example: "  pointsman role whoami -tls-ca ca.pem -tls-cert ada.pem -tls-key ada-key.pem",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), e, services.WhoAmI, &pb.WhoAmIRequest{})
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printWho(w, answer) })
		},
	}
}

func printWho(w io.Writer, who *pb.WhoAmIResponse) {
	role := "no role"
	if who.Role != "" {
		role = "role " + who.Role
	}
	fmt.Fprintf(w, "%s, %s\n", who.Identity, role)
	if len(who.Tenants) > 0 {
		fmt.Fprintf(w, "may act for tenants %s\n", strings.Join(who.Tenants, ", "))
	}
}
