module godes-mm8

go 1.26.0
