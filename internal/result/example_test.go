package result_test

import (
	"fmt"

	"hostlab/internal/result"
)

// How is a change written where a second factor is fixed?
func ExampleContrast_String() {
	fmt.Println(result.Contrast{Factors: []string{"smt"}, Levels: []string{"off"}, At: map[string]string{"log": "nvme"}})
	// Output:
	// smt off at log nvme
}
