// The worker of the sample application: worker --processes 4 --slots 8.
package main

import (
	"ergon-client/examples/shop"
	"ergon-client/launch"
)

func main() { launch.Main(shop.New().Mux) }
