/** `POST /v1/programmes/validate`: lints a document without publishing it. */

import { PREVIOUS_INVALID } from '../../documents/governance/compare/change.ts'
import { fromBase64 } from '../../control/command/commands.ts'
import type { Compliance } from '../../control/programmes/compliance.ts'
import { toChangelog } from '../../documents/governance/compare/changelog.ts'
import { FINDING_CATEGORIES } from '../../documents/governance/finding.ts'
import type { LintReport } from '../../documents/governance/lint/linter.ts'
import type { Handlers, Operations } from './operation.ts'
import { base64, DOCUMENT_BODY_BYTES_MAX, named, nullable, object, text } from './schemas.ts'

const points = { type: 'number', minimum: 0, maximum: 100 } as const
const level = { type: 'string', enum: ['error', 'warning', 'info'] } as const
const category = { type: 'string', enum: [...FINDING_CATEGORIES] } as const
const count = { type: 'integer' } as const
const lintFinding = named(
  'LintFinding',
  object({
    rule: text,
    category,
    severity: level,
    message: text,
    advice: text,
    pointer: text,
    line: count,
    column: count,
    fingerprint: { ...text, description: 'Identifies rule and location; identical in every run.' },
    principle: { ...nullable(text), description: 'The design principle of the tenant that the rule enforces.' },
  }),
)
const lintFindings = { type: 'array', items: lintFinding } as const
const change = object({
  id: text,
  level: { type: 'string', enum: ['breaking', 'warning', 'info'] },
  pointer: { ...text, description: 'Place in the later document, or in the earlier one for what was removed.' },
  line: { ...count, description: 'Line in the later document, or that of the nearest ancestor of what was removed.' },
  column: count,
  previousPointer: { ...nullable(text), description: 'Place in the earlier document; null for what is new.' },
  previousLine: nullable(count),
  previousColumn: nullable(count),
  message: text,
  operations: {
    type: 'array',
    items: text,
    description: 'Every operation that the change affects, such as `POST /cards`; empty: the API as a whole.',
  },
})
const cost = object({
  rule: text,
  category,
  severity: level,
  count,
  weight: { ...points, description: 'Points that the rule costs at a density of 1.' },
  density: {
    type: 'number',
    minimum: 0,
    description:
      'Findings per operation, path or request schema in which the rule could have one; counts as 1 at most.',
  },
  cost: points,
})

export const VALIDATION_OPERATIONS = {
  validateSpecification: {
    method: 'POST',
    path: '/v1/programmes/validate',
    summary: 'Lints an OpenAPI document: score, findings with locations, breaking changes, security, recommendations',
    description:
      'Nothing is stored. `changes` lists the changes from `previous`, the document in force, to `specification`; ' +
      '`breakingChanges` those that break callers. ' +
      'A document that cannot be served scores 0, with the reason in `findings`.',
    tag: 'Governance',
    scope: 'programmes:read',
    body: named('Validation', object({ specification: base64, previous: base64 }, ['specification'])),
    bodyBytesMax: 2 * DOCUMENT_BODY_BYTES_MAX,
    status: 200,
    answer: named(
      'ValidationResult',
      object({
        score: points,
        findings: lintFindings,
        compliance: object({
          band: {
            type: 'string',
            enum: ['clean', 'attention', 'drift'],
            description: '`clean` from 90, `attention` from 70, else `drift`.',
          },
          servable: { type: 'boolean' },
          categories: object(Object.fromEntries(FINDING_CATEGORIES.map((name) => [name, points]))),
          costs: {
            type: 'array',
            items: cost,
            description: 'Points that each rule costs; their sum is 100 minus the score.',
          },
          omitted: { ...count, description: 'Number of findings that are not shown.' },
          coverage: {
            ...nullable(
              object({
                operations: count,
                of: count,
                failed: { type: 'array', items: object({ rule: text, detail: text }) },
              }),
            ),
            description:
              'Number of operations that Spectral rules were applied to, and the rules that failed. In a large document the rules ' +
              'cover a part, the same in every run; null: the document cannot be served.',
          },
        }),
        breakingChanges: {
          type: 'array',
          items: change,
          description: 'The changes of the level `breaking`, and that `previous` cannot be read.',
        },
        changes: { type: 'array', items: change, description: 'All changes; empty without `previous`.' },
        changelog: {
          ...nullable(text),
          description: 'The first 500 changes as a changelog in Markdown; null without `previous`.',
        },
        security: object({ score: points, findings: lintFindings }),
        recommendations: {
          type: 'array',
          items: object({ rule: text, advice: text, count, gain: points }),
          description: 'Recommended fixes, ordered by the points that they gain.',
        },
      }),
    ),
    problems: ['specification_invalid'],
  },
} as const satisfies Operations

export function validationHandlers({
  compliance,
}: {
  readonly compliance: Pick<Compliance, 'lint'>
}): Handlers<typeof VALIDATION_OPERATIONS> {
  return {
    async validateSpecification({ author, body }) {
      const { specification, previous } = body
      const before = previous === undefined ? null : fromBase64(previous, '/previous')
      return show(
        await compliance.lint(author.tenant, fromBase64(specification, '/specification'), before),
        before !== null,
      )
    },
  }
}

export function bandOf(score: number): 'clean' | 'attention' | 'drift' {
  if (score >= 90) return 'clean'
  return score >= 70 ? 'attention' : 'drift'
}

function show(report: LintReport, isCompared: boolean) {
  const { score, findings, byCategory, costs, omitted, isServable, coverage, changes, recommendations } = report
  return {
    score,
    findings,
    compliance: { band: bandOf(score), servable: isServable, categories: byCategory, costs, omitted, coverage },
    breakingChanges: changes.filter(({ id, level }) => level === 'breaking' || id === PREVIOUS_INVALID),
    changes,
    changelog: isCompared ? toChangelog(changes) : null,
    security: { score: byCategory.security, findings: findings.filter((finding) => finding.category === 'security') },
    recommendations,
  }
}
