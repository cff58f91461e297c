export function answer(permissionDecision: string): void {
  console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision } }));
}
