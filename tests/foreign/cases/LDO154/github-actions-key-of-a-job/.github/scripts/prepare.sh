# The checkout that codex exec works in.
mkdir -p out
