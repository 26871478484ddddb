/** `/v1/policy` and `/v1/rulesets`: conditions of automatic approval, and the lint rules of a tenant. */

import type { Rulesets } from '../../control/programmes/rulesets.ts'
import type { TenantPolicies } from '../../control/programmes/tenant-policy.ts'
import type { Handlers, Operations } from './operation.ts'
import type { Schema } from './schema-type.ts'
import { id, labelledQuery, labels, list, named, nullable, object, prose, reference, time } from './schemas.ts'

const points = { type: 'number', minimum: 0, maximum: 100 } as const
const approval = {
  minScore: points,
  allowErrors: { type: 'boolean' },
  allowBreaking: {
    type: 'boolean',
    description:
      'Approves a new major version with breaking changes. Within a major version breaking changes are always refused.',
  },
  exposures: { type: 'array', maxItems: 3, items: { type: 'string', enum: ['Internal', 'Partner', 'Public'] } },
} as const
const policy = named(
  'TenantPolicy',
  object({
    approval: object(approval),
    ruleset: nullable(reference),
    secondFactor: {
      type: 'string',
      enum: ['off', 'required'],
      description: '`required`: people need a second factor to sign in, and set it up at the next sign-in.',
    },
  }),
)
const document = {
  extends: {
    description: 'Rulesets to extend: `spectral:oas`, `spectral:owasp`, or `[name, "all"]` for all of their rules.',
  },
  formats: { type: 'array', maxItems: 10, items: reference },
  aliases: { type: 'object', maxProperties: 100, additionalProperties: {} },
  description: prose,
  documentationUrl: { type: 'string', maxLength: 2_048 },
  rules: {
    type: 'object',
    maxProperties: 200,
    additionalProperties: {},
    description: 'Each name maps to a severity, or to a custom rule with `given`, `then`, `severity` and `message`.',
  },
} as const satisfies Record<string, Schema>
const ruleset = named(
  'Ruleset',
  object({ id, ...document, labels, createdAt: time }, ['id', 'rules', 'labels', 'createdAt']),
)
const tag = 'Governance'
const reading = { method: 'GET', tag, scope: 'policy:read', status: 200 } as const

export const POLICY_OPERATIONS = {
  createRuleset: {
    method: 'POST',
    path: '/v1/rulesets',
    summary: 'Creates a Spectral ruleset for linting documents; the tenant policy names the one in force',
    description:
      'The ruleset extends the default rules, which apply to every document. Custom rules are data: comparing paths and the ' +
      'functions alphabetical, casing, defined, enumeration, falsy, length, or, pattern, schema, truthy, undefined and xor.',
    tag,
    scope: 'policy:write',
    body: named('RulesetInput', object({ ...document, labels }, [])),
    status: 201,
    answer: ruleset,
    problems: ['specification_invalid'],
  },
  listRulesets: {
    ...reading,
    path: '/v1/rulesets',
    summary: 'Lists the rulesets of the tenant',
    query: labelledQuery(),
    answer: list(ruleset),
  },
  getRuleset: { ...reading, path: '/v1/rulesets/:id', summary: 'Returns a ruleset', answer: ruleset },
  updateRuleset: {
    method: 'PATCH',
    path: '/v1/rulesets/:id',
    summary: 'Replaces members of a ruleset; the next lint uses them if the policy names the ruleset',
    tag,
    scope: 'policy:write',
    body: named('RulesetChange', object({ ...document, labels }, [])),
    status: 200,
    answer: ruleset,
    problems: ['specification_invalid', 'state_conflict'],
    changes: 'getRuleset',
  },
  removeRuleset: {
    method: 'DELETE',
    path: '/v1/rulesets/:id',
    summary: 'Deletes a ruleset that the tenant policy does not name',
    tag,
    scope: 'policy:write',
    status: 204,
    problems: ['state_conflict'],
    changes: 'getRuleset',
  },
  getTenantPolicy: {
    ...reading,
    path: '/v1/policy',
    summary: 'Returns the conditions under which the tenant approves programmes automatically',
    answer: policy,
  },
  putTenantPolicy: {
    method: 'PUT',
    path: '/v1/policy',
    summary: 'Replaces the conditions for automatic approval',
    description: 'Members that are left out get their defaults; PATCH keeps them.',
    tag,
    scope: 'policy:write',
    body: { ...policy, title: 'TenantPolicyInput', required: ['approval'] },
    status: 200,
    answer: policy,
    problems: ['state_conflict'],
    changes: 'getTenantPolicy',
  },
  updateTenantPolicy: {
    method: 'PATCH',
    path: '/v1/policy',
    summary: 'Changes the conditions for automatic approval',
    description: 'Members that are left out stay as they are, also those of `approval`.',
    tag,
    scope: 'policy:write',
    body: named('TenantPolicyChange', object({ ...policy.properties, approval: object(approval, []) }, [])),
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
    createRuleset: async ({ author, body }) => rulesets.create(author, body),
    listRulesets: async ({ author, query }) => rulesets.list(author.tenant, query),
    getRuleset: async ({ author, params }) => rulesets.get(author.tenant, params.id),
    updateRuleset: async ({ author, params, body }) => rulesets.update(author, params.id, body),
    removeRuleset: async ({ author, params }) => rulesets.remove(author, params.id),
    getTenantPolicy: async ({ author }) => policies.get(author.tenant),
    putTenantPolicy: async ({ author, body }) => policies.put(author, body),
    updateTenantPolicy: async ({ author, body }) => policies.update(author, body),
  }
}
