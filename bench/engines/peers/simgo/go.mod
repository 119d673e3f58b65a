module simgo-mm8

go 1.26.0

require github.com/fschuetz04/simgo v0.7.0
