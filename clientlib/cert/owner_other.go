//go:build !unix

package cert

import "io/fs"

// ownedByUs cannot be told here.
func ownedByUs(fs.FileInfo) bool { return true }

// mine cannot be told here, and modes say nothing.
func mine(fs.FileInfo) bool { return false }
