import { appendFileSync } from 'node:fs';
import { ledgerPath } from './lib/paths';

interface Entry {
  decision: 'block' | 'allow';
  spent: number;
}

const input = JSON.parse(await Bun.stdin.text());
const entry: Entry = { decision: input.spent > 100 ? 'block' : 'allow', spent: input.spent };
appendFileSync(ledgerPath(), JSON.stringify(entry) + '\n');
if (input.spent > 100) {
  console.log(JSON.stringify({ decision: 'block', reason: 'the budget is spent' }));
}
