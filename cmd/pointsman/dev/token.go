package dev

import (
	"os"
	"path/filepath"
)

// TokenFile is where `pointsman dev` leaves the token of its control plane, and the command line
// looks for it; empty: this user has no folder for such things.
func TokenFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "pointsman", "dev.token")
}
