/** The rules of governance as `docs/rules.md` shows them. `node test/unit/governance/lint/rules-table.ts` writes the file. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RULES as CHANGES } from '../../../../src/governance/compare/change.ts'
import { OWN_RULES } from '../../../../src/governance/lint/lint.ts'
import { KNOWN_RULES } from '../../../../src/governance/spectral/known-rules.ts'
import { FUNCTIONS } from '../../../../src/governance/spectral/linear-functions.ts'

export const RULES_FILE = join(import.meta.dirname, '../../../../docs/rules.md')

export function rulesTable(): string {
  const judged = OWN_RULES.map(
    ({ id, category, severity, message, advice }) =>
      `| \`${id}\` | ${category} | ${severity} | ${cell(message)} | ${cell(advice)} |`,
  )
  const spectral = KNOWN_RULES.filter(({ leftOut }) => leftOut === null).map(
    ({ id, category, standard, description }) => `| \`${id}\` | ${category} | ${standard} | ${cell(description)} |`,
  )
  const leftOut = KNOWN_RULES.filter((rule) => rule.leftOut !== null).map(
    ({ id, severity, leftOut: reason }) => `| \`${id}\` | ${severity} | ${cell(reason ?? '')} |`,
  )
  const compared = Object.entries(CHANGES).map(
    ([id, [level, message, example]]) => `| \`${id}\` | ${level} | ${cell(message)} | ${cell(example)} |`,
  )
  return `# Rules

Written from the code by \`node test/unit/governance/lint/rules-table.ts\`.

## What a document is held to

| Rule | Category | Severity | What is wrong | What to do |
| --- | --- | --- | --- | --- |
${judged.join('\n')}

### Spectral's and OWASP's

Applied by Spectral's engine: to a document as a whole, to a part of a large one (\`compliance.coverage\`). What keeps no API from serving is no error here, whatever its authors say.

| Rule | Category | Severity | What it asks for |
| --- | --- | --- | --- |
${spectral.join('\n')}

These stay out until a ruleset names them or extends \`spectral:oas\` or \`spectral:owasp\`:

| Rule | Severity then | Why it stays out |
| --- | --- | --- |
${leftOut.join('\n')}

### A tenant's own

Severities are a tenant's to change: \`POST /v1/rulesets {"rules": {"pagination": "error", "path-verb": "off"}}\`, and \`PUT /v1/policy\` names the ruleset.
So are rules of one's own, as Spectral writes them, in the same document:

\`\`\`json
{ "rules": { "owner": { "given": "$.info", "severity": "error", "message": "{{property}} is missing",
                        "then": { "field": "x-owner", "function": "truthy" } } } }
\`\`\`

Functions: ${Object.keys(FUNCTIONS)
    .map((name) => `\`${name}\``)
    .join(
      ', ',
    )}. Paths compare members and call nothing but \`.match(/…/)\`; patterns run on a linear engine; aliases are lists of paths.

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
