\sleep 100 s
