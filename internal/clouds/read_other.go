//go:build !linux

package clouds

import "errors"

// ReadVolume asks none here.
func ReadVolume(string) (Volume, error) { return Volume{}, errors.ErrUnsupported }

// ReadNetwork counts none here.
func ReadNetwork(string) (map[string]uint64, error) { return nil, errors.ErrUnsupported }
