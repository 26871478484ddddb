/** The rules of governance as `docs/rules.md` shows them. `node test/unit/documents/governance/lint/rules-table.ts` writes the file. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RULES as CHANGES } from '../../../../../src/documents/governance/compare/change-rules.ts'
import { OWN_RULES } from '../../../../../src/documents/governance/lint/lint.ts'
import { KNOWN_RULES } from '../../../../../src/documents/governance/spectral/known-rules.ts'
import { FUNCTIONS } from '../../../../../src/documents/governance/spectral/linear-functions.ts'

export const RULES_FILE = join(import.meta.dirname, '../../../../../docs/rules.md')

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

Generated from the code by \`node test/unit/documents/governance/lint/rules-table.ts\`.

## Rules for one document

| Rule | Category | Severity | What is wrong | What to do |
| --- | --- | --- | --- | --- |
${judged.join('\n')}

### Spectral's and OWASP's

Spectral's engine checks a document as a whole, or a part of a large one (\`compliance.coverage\`). A
fault that keeps no API from serving is not an error here, whatever severity its authors chose.

| Rule | Category | Severity | What it asks for |
| --- | --- | --- | --- |
${spectral.join('\n')}

These are off until a ruleset names them or extends \`spectral:oas\` or \`spectral:owasp\`:

| Rule | Severity if on | Why it is off |
| --- | --- | --- |
${leftOut.join('\n')}

### Rules of a tenant

A tenant changes severities with \`POST /v1/rulesets\` and
\`{"rules": {"pagination": "error", "path-verb": "off"}}\`; \`PATCH /v1/policy\` names the ruleset. The
same document may hold rules of its own, in the notation of Spectral:

\`\`\`json
{ "rules": { "owner": { "given": "$.info", "severity": "error", "message": "{{property}} is missing",
                        "then": { "field": "x-owner", "function": "truthy" } } } }
\`\`\`

Paths compare members and call nothing but \`.match(/…/)\`. Patterns run on a linear engine. Aliases
are lists of paths. The functions are:

${Object.keys(FUNCTIONS)
  .map((name) => `- \`${name}\``)
  .join('\n')}

## Rules for a new version

A new version may accept more from a client and may send less to it. A breaking change needs a new
major version.

A ruleset sets the severity of the rules that are off, and of \`operation.renamed\` and
\`request.default\`: \`{"rules": {"operation.sunset.missing": "error"}}\`. An error counts as
breaking. The other rules decide whether callers break, and no ruleset changes them.

| Rule | Level | Meaning | Example |
| --- | --- | --- | --- |
${compared.join('\n')}
`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

if (process.argv[1] === import.meta.filename) writeFileSync(RULES_FILE, rulesTable())
