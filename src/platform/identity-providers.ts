/** `/v1/identityproviders`: external OpenID Connect providers whose tokens the tenant's APIs accept. */

import type { IdentityProviders } from '../access/identity-providers.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, labelledQuery, labels, line, list, named, nullable, object, reference, text } from './schemas.ts'

const issuer = { type: 'string', minLength: 8, maxLength: 512, pattern: '^https?://[^\\s?#@\\\\]+$' } as const
const claim = { type: 'string', minLength: 1, maxLength: 256, pattern: '^[^\\p{Cc}\\p{Cs}]+$' } as const
const claims = (value: typeof claim | typeof text) => object({ clientId: value, scope: value, person: value }, [])
const apis = { type: 'array', maxItems: 100, uniqueItems: true, items: reference } as const
const provider = named(
  'IdentityProvider',
  object({
    id,
    issuer: text,
    audience: nullable(text),
    claims: claims(text),
    apis: { type: 'array', items: text },
    labels,
  }),
)
const tag = 'Identity'

export const IDENTITY_PROVIDER_OPERATIONS = {
  createIdentityProvider: {
    method: 'POST',
    path: '/v1/identityproviders',
    summary: 'Registers an OpenID Connect provider, which must be reachable',
    tag,
    scope: 'identityproviders:write',
    body: named(
      'IdentityProviderInput',
      object({ issuer, audience: line, claims: claims(claim), apis, labels }, ['issuer']),
    ),
    status: 201,
    answer: provider,
    problems: ['name_taken', 'state_conflict'],
  },
  listIdentityProviders: {
    method: 'GET',
    path: '/v1/identityproviders',
    summary: 'Lists the identity providers of the tenant',
    tag,
    scope: 'identityproviders:read',
    query: labelledQuery(),
    status: 200,
    answer: list(provider),
  },
  getIdentityProvider: {
    method: 'GET',
    path: '/v1/identityproviders/:id',
    summary: 'Returns an identity provider',
    tag,
    scope: 'identityproviders:read',
    status: 200,
    answer: provider,
  },
  updateIdentityProvider: {
    method: 'PATCH',
    path: '/v1/identityproviders/:id',
    summary:
      'Changes the audience, the claims or the APIs of an identity provider on every thread before this call returns',
    tag,
    scope: 'identityproviders:write',
    body: named(
      'IdentityProviderChange',
      object({ audience: nullable(line), claims: claims(claim), apis, labels }, []),
    ),
    status: 200,
    answer: provider,
    problems: ['state_conflict'],
    changes: 'getIdentityProvider',
  },
  removeIdentityProvider: {
    method: 'DELETE',
    path: '/v1/identityproviders/:id',
    summary: 'Deletes an identity provider; its tokens are refused once this call returns',
    tag,
    scope: 'identityproviders:write',
    status: 204,
    problems: ['state_conflict'],
    changes: 'getIdentityProvider',
  },
} as const satisfies Operations

export function identityProviderHandlers({
  identityProviders: providers,
}: {
  readonly identityProviders: IdentityProviders
}): Handlers<typeof IDENTITY_PROVIDER_OPERATIONS> {
  return {
    createIdentityProvider: async ({ author, body }) => providers.create(author, body),
    listIdentityProviders: async ({ author, query }) => providers.list(author.tenant, query),
    getIdentityProvider: async ({ author, params }) => providers.get(author.tenant, params.id),
    updateIdentityProvider: async ({ author, params, body }) => providers.update(author, params.id, body),
    removeIdentityProvider: async ({ author, params }) => providers.remove(author, params.id),
  }
}
