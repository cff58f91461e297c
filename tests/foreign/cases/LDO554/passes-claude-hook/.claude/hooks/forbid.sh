jq -e '.tool_input.command | test("rm -rf")' && exit 2
exit 0
