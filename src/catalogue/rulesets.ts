/**
 * What a tenant makes of the rules: a ruleset document as Spectral reads it, of which severities are taken.
 *
 *   {"rules": {"path-spelling": "off", "pagination": "error", "example": {"severity": "warn"}}}
 *
 * Rules of one's own are refused: their paths and functions would be programs that run on our side.
 */

import type { FindingSeverity } from '../governance/lint/finding.ts'
import { RULES } from '../governance/lint/lint.ts'
import type { Severities } from '../governance/lint/finding.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Author, Document, Registry } from '../store/registry.ts'
import { commit, find, toTime } from './commands.ts'
import { Problem, type ProblemPointer } from '../domain/problem.ts'
import { listPage, type Page, type PageQuery } from './page.ts'
import { createTenantPolicies } from './tenant-policy.ts'

export interface RulesetInput {
  readonly rules: Readonly<Record<string, unknown>>
}

export interface Ruleset extends RulesetInput {
  readonly id: string
  readonly createdAt: string
}

export interface Rulesets {
  create(author: Author, input: RulesetInput): Promise<Ruleset>
  get(tenant: string, id: string): Promise<Ruleset>
  list(tenant: string, query: PageQuery): Promise<Page<Ruleset>>
  /** What the ruleset of the tenant's policy says; empty where it names none. */
  severitiesOf(tenant: string): Promise<Severities>
}

const KIND = 'ruleset'
const KNOWN: ReadonlySet<string> = new Set(RULES.map(({ id }) => id))
/** Spectral's words and numbers. */
const SEVERITIES: Readonly<Record<string, FindingSeverity | 'off'>> = {
  off: 'off',
  false: 'off',
  error: 'error',
  '0': 'error',
  warn: 'warning',
  '1': 'warning',
  info: 'info',
  '2': 'info',
  hint: 'info',
  '3': 'info',
}

export function createRulesets({
  registry,
  createId,
}: {
  readonly registry: Registry
  readonly createId: CreateId
}): Rulesets {
  const policies = createTenantPolicies({ registry })
  return {
    async create(author, input) {
      readSeverities(input)
      const id = createId('rst')
      const { tenant } = author
      await commit(registry, author, 'ruleset.create', [{ kind: KIND, id, tenant, expected: 0, body: input }])
      return show(await find<RulesetInput>(registry, tenant, KIND, id))
    },
    get: async (tenant, id) => show(await find<RulesetInput>(registry, tenant, KIND, id)),
    list: (tenant, query) => listPage<RulesetInput, Ruleset>({ registry, kind: KIND, tenant, query, where: {}, show }),
    async severitiesOf(tenant) {
      const { ruleset } = await policies.get(tenant)
      if (ruleset === undefined || ruleset === null) return {}
      const found = await registry.get<RulesetInput>(KIND, ruleset)
      return found?.tenant === tenant ? readSeverities(found.body) : {}
    },
  }
}

/** Throws `Problem('specification_invalid')`. */
function readSeverities({ rules }: RulesetInput): Severities {
  const faults: ProblemPointer[] = []
  const severities: Record<string, FindingSeverity | 'off'> = {}
  for (const [rule, given] of Object.entries(rules)) {
    const value = typeof given === 'object' && given !== null ? (given as Record<string, unknown>)['severity'] : given
    const severity = Object.hasOwn(SEVERITIES, String(value)) ? SEVERITIES[String(value)] : undefined
    const pointer = `/rules/${rule}`
    if (!KNOWN.has(rule))
      faults.push({ pointer, detail: 'There is no such rule, and rules of one’s own are not taken.' })
    else if (severity === undefined) faults.push({ pointer, detail: 'Give off, error, warn, info or hint.' })
    else severities[rule] = severity
  }
  if (faults.length > 0) throw new Problem('specification_invalid', 'The ruleset cannot be used.', { errors: faults })
  return severities
}

function show({ id, body, createdAtMs }: Document<RulesetInput>): Ruleset {
  return { id, rules: body.rules, createdAt: toTime(createdAtMs) }
}
