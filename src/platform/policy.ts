/** `/v1/policy` and `/v1/rulesets`: what a tenant lets pass without anybody deciding, and by which severities. */

import type { RulesetInput, Rulesets } from '../catalogue/rulesets.ts'
import type { TenantPolicies, TenantPolicy } from '../catalogue/tenant-policy.ts'
import type { Handlers, Operations } from './operation.ts'
import { toPageQuery } from './page-query.ts'
import { id, list, named, nullable, object, query, reference, time, type Schema } from './schemas.ts'

const points: Schema = { type: 'number', minimum: 0, maximum: 100 }
const policy = named(
  'TenantPolicy',
  object({
    approval: object({
      minScore: points,
      allowErrors: { type: 'boolean' },
      allowBreaking: {
        type: 'boolean',
        description: 'A new major version that breaks callers of the one before. Within a major nothing may break.',
      },
      exposures: { type: 'array', maxItems: 3, items: { type: 'string', enum: ['Internal', 'Partner', 'Public'] } },
    }),
    ruleset: nullable(reference),
  }),
)
const ruleset = named('Ruleset', object({ id, rules: { type: 'object', additionalProperties: {} }, createdAt: time }))
const tag = 'Governance'
const reading = { method: 'GET', tag, scope: 'policy:read', status: 200 } as const

export const POLICY_OPERATIONS = {
  createRuleset: {
    method: 'POST',
    path: '/v1/rulesets',
    summary: 'Severities of the rules, as a Spectral ruleset document; the policy names the one in force',
    tag,
    scope: 'policy:write',
    body: named(
      'RulesetInput',
      object(
        {
          extends: {},
          rules: { type: 'object', maxProperties: 200, additionalProperties: {} },
        },
        ['rules'],
      ),
    ),
    status: 201,
    answer: ruleset,
    problems: ['specification_invalid'],
  },
  listRulesets: {
    ...reading,
    path: '/v1/rulesets',
    summary: 'Rulesets of the tenant',
    query: query(),
    answer: list(ruleset),
  },
  getRuleset: { ...reading, path: '/v1/rulesets/:id', summary: 'One ruleset', answer: ruleset },
  getTenantPolicy: {
    ...reading,
    path: '/v1/policy',
    summary: 'What the tenant lets pass without anybody deciding',
    answer: policy,
  },
  putTenantPolicy: {
    method: 'PUT',
    path: '/v1/policy',
    summary: 'Changes what passes without anybody deciding',
    tag,
    scope: 'policy:write',
    body: { ...policy, title: 'TenantPolicyInput', required: ['approval'] },
    status: 200,
    answer: policy,
    problems: ['state_conflict'],
    changes: 'getTenantPolicy',
  },
} as const satisfies Operations

export interface PolicyHandlersOptions {
  readonly policies: TenantPolicies
  readonly rulesets: Rulesets
}

export function policyHandlers({ policies, rulesets }: PolicyHandlersOptions): Handlers<typeof POLICY_OPERATIONS> {
  return {
    createRuleset: async ({ author, body }) => rulesets.create(author, { rules: (body as RulesetInput).rules }),
    listRulesets: async ({ author, query: given }) => rulesets.list(author.tenant, toPageQuery(given)),
    getRuleset: async ({ author, params }) => rulesets.get(author.tenant, params['id'] ?? ''),
    getTenantPolicy: async ({ author }) => policies.get(author.tenant),
    putTenantPolicy: async ({ author, body }) => policies.put(author, body as TenantPolicy),
  }
}
