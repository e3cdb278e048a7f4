package daemon

import "runtime/debug"

// release is set when a release is built:
// -ldflags "-X github.com/pointsman/pointsman/cmd/daemon.release=v1.2.3".
var release string

// Version is the release, or what the build knows of itself.
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
