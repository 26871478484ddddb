/** The rules of governance as `docs/rules.md` shows them. `node test/unit/governance/rules-table.ts` writes the file. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RULES as CHANGES } from '../../../src/governance/compare/change.ts'
import { RULES } from '../../../src/governance/lint/lint.ts'

export const RULES_FILE = join(import.meta.dirname, '../../../docs/rules.md')

export function rulesTable(): string {
  const judged = RULES.map(
    ({ id, category, severity, message, advice }) =>
      `| \`${id}\` | ${category} | ${severity} | ${cell(message)} | ${cell(advice)} |`,
  )
  const compared = Object.entries(CHANGES).map(
    ([id, [level, message, example]]) => `| \`${id}\` | ${level} | ${cell(message)} | ${cell(example)} |`,
  )
  return `# Rules

Written from the code by \`node test/unit/governance/rules-table.ts\`.

## What a document is held to

| Rule | Category | Severity | What is wrong | What to do |
| --- | --- | --- | --- | --- |
${judged.join('\n')}

Severities are a tenant's to change: \`POST /v1/rulesets {"rules": {"pagination": "error", "path-verb": "off"}}\`, and \`PUT /v1/policy\` names the ruleset.

## What two versions are compared by

What a client sends may only widen, what it receives may only narrow. A breaking change needs a new major version.

| Rule | Level | What it means | Example |
| --- | --- | --- | --- |
${compared.join('\n')}
`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

if (process.argv[1] === import.meta.filename) writeFileSync(RULES_FILE, rulesTable())
