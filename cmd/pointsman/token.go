package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/pointsman/pointsman/proto/pointsman/v1"
)

func newToken(e *env) *cobra.Command {
	return noun("token", "Make and revoke bearer tokens", newTokenCreate(e), newTokenList(e), newTokenRevoke(e))
}

// tokenRoles are those that a token may have: replicas show certificates.
var tokenRoles = []string{"client", "agent", "reader", "operator", "admin"}

func newTokenCreate(e *env) *cobra.Command {
	var request pb.CreateTokenRequest
	var lasts time.Duration
	var out string
	cmd := &cobra.Command{
		Use:   "create NAME -role ROLE [-for TIME] [-out FILE]",
		Short: "Make a token",
		Long: `Makes a token for the identity token/NAME. It is told this once: the control plane keeps a hash of it. With -out it goes
to a new file that only you may read, and not to the screen. An agent's token is of the node that it is named after.`,
		Example: `  pointsman token create ci -role operator -for 720h -out ci.token
  pointsman token create node-7 -role agent -out node-7.token`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case request.Role == "":
				return usagef(cmd, "a token needs -role: client, agent, reader, operator or admin")
			case !slices.Contains(tokenRoles, request.Role):
				return usagef(cmd, "-role %s: want client, agent, reader, operator or admin", request.Role)
			case lasts < 0 || cmd.Flags().Changed("for") && lasts < time.Second:
				return usagef(cmd, "-for %v: want a second or more; without -for it is good until it is revoked", lasts)
			}
			request.Name, request.DurationUs = args[0], lasts.Microseconds()
			return e.createToken(cmd, &request, out)
		},
	}
	cmd.Flags().StringVar(&request.Role, "role", "", "what it may do: client, agent, reader, operator or admin")
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long it is good; without it until it is revoked")
	cmd.Flags().StringVar(&out, "out", "", "new `file` for it, for this user alone")
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(tokenRoles, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// createToken opens the file first: a token that cannot be kept is better not made.
func (e *env) createToken(cmd *cobra.Command, request *pb.CreateTokenRequest, out string) error {
	if out == "" {
		answer, err := call(cmd.Context(), e, services.CreateToken, request)
		if err != nil {
			return err
		}
		return e.print(answer, func(w io.Writer) { fmt.Fprintln(w, answer.Token) })
	}
	file, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: name a new file", out)
	}
	if err != nil {
		return err
	}
	answer, err := call(cmd.Context(), e, services.CreateToken, request)
	if err == nil {
		_, err = file.WriteString(answer.Token + "\n")
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(out))
	}
	answer.Token = "" // it is in the file
	return e.print(answer, func(w io.Writer) {
		fmt.Fprintf(w, "token %s of token/%s is in %s\n", answer.Info.GetId(), answer.Info.GetName(), out)
	})
}

func newTokenList(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List tokens, but not what they are",
		Example: "  pointsman token list",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := call(cmd.Context(), e, services.ListTokens, &pb.ListTokensRequest{})
			if err != nil {
				return err
			}
			return e.print(answer, func(w io.Writer) { printTokens(w, answer.Tokens) })
		},
	}
}

func printTokens(w io.Writer, tokens []*pb.TokenInfo) {
	if len(tokens) == 0 {
		fmt.Fprintln(w, "no tokens: make one with `pointsman token create NAME -role ROLE`")
		return
	}
	rows := [][]string{{"ID", "IDENTITY", "ROLE", "CREATED", "EXPIRES", "BY"}}
	for _, t := range tokens {
		rows = append(rows, []string{t.Id, "token/" + t.Name, t.Role, moment(t.Created), tokenEnd(t), t.Actor})
	}
	table(w, rows)
}

func tokenEnd(t *pb.TokenInfo) string {
	switch {
	case t.Revoked:
		return "revoked"
	case t.Expires == nil:
		return "never"
	case !time.Now().Before(t.Expires.AsTime()):
		return "expired"
	}
	return moment(t.Expires)
}

func newTokenRevoke(e *env) *cobra.Command {
	return e.revokes(&cobra.Command{
		Use:   "revoke ID -reason WHY",
		Short: "Revoke one token",
		Long: `Ends what one token may do: at once for new calls, within 30 s on streams that are open. Other tokens of the same
name go on: ` + "`pointsman role revoke token/NAME`" + ` ends them all.`,
		Example: `  pointsman token revoke default.0f3a9c51d2e7 -reason "left in a log"`,
	})
}
