/** `/v1/identityproviders`: OpenID Connect providers whose tokens the tenant's APIs accept, and that sign people in. */

import type { IdentityProviders } from '../../control/access/identity-providers.ts'
import type { Handlers, Operations } from './operation.ts'
import {
  id,
  labelledQuery,
  labels,
  line,
  list,
  name,
  named,
  nullable,
  object,
  reference,
  scopes,
  text,
} from './schemas.ts'
import { assignmentFields } from './users.ts'

const issuer = { type: 'string', minLength: 8, maxLength: 512, pattern: '^https?://[^\\s?#@\\\\]+$' } as const
const claim = { type: 'string', minLength: 1, maxLength: 256, pattern: '^[^\\p{Cc}\\p{Cs}]+$' } as const
const claims = (value: typeof claim | typeof text) => object({ clientId: value, scope: value, person: value }, [])
const apis = { type: 'array', maxItems: 100, uniqueItems: true, items: reference } as const
const mappings = {
  type: 'array',
  minItems: 1,
  maxItems: 50,
  items: named('RoleMapping', object({ claim, value: claim, ...assignmentFields }, ['claim', 'value', 'role'])),
  description: 'A person has the roles of all mappings whose claim has the value, or has it in its list.',
} as const
const clientSecret = {
  type: 'string',
  minLength: 1,
  maxLength: 1_024,
  pattern: '^[\\x20-\\x7e]+$',
  writeOnly: true,
  description: 'Stored encrypted, and never shown.',
} as const
const signInFields = {
  clientId: claim,
  roles: mappings,
  scopes: { ...scopes, maxItems: 20, description: 'Requested besides `openid`. Default: `profile` and `email`.' },
  createPeople: {
    type: 'boolean',
    description: 'Whether a person who is not known becomes a user at the first sign-in. Default: false.',
  },
  name: { ...nullable(name), description: 'The name on the sign-in page. Default: the host of the issuer.' },
} as const
const signInChange = { ...signInFields, clientSecret }
const signIn = nullable(named('ProviderSignIn', object(signInFields)))
const provider = named(
  'IdentityProvider',
  object({
    id,
    issuer: text,
    audience: nullable(text),
    claims: claims(text),
    apis: { type: 'array', items: text },
    signIn,
    redirectUri: { ...text, description: 'The redirect URI of the client at the provider.' },
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
      object(
        {
          ...{ issuer, audience: line, claims: claims(claim), apis, labels },
          signIn: named('ProviderSignInInput', object(signInChange, ['clientId', 'clientSecret', 'roles'])),
        },
        ['issuer'],
      ),
    ),
    status: 201,
    answer: provider,
    problems: ['name_taken', 'state_conflict', 'operation_forbidden'],
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
      'Changes an identity provider on every thread; a change of who signs in ends the access of its people before this call returns',
    tag,
    scope: 'identityproviders:write',
    body: named(
      'IdentityProviderChange',
      object(
        {
          ...{ audience: nullable(line), claims: claims(claim), apis, labels },
          signIn: {
            ...nullable(named('ProviderSignInChange', object(signInChange, []))),
            description: 'Members that are left out stay as they are. Null: the provider no longer signs people in.',
          },
        },
        [],
      ),
    ),
    status: 200,
    answer: provider,
    problems: ['state_conflict', 'operation_forbidden'],
    changes: 'getIdentityProvider',
  },
  removeIdentityProvider: {
    method: 'DELETE',
    path: '/v1/identityproviders/:id',
    summary: 'Deletes an identity provider; its tokens, and those of its people, are refused once this call returns',
    tag,
    scope: 'identityproviders:write',
    status: 204,
    problems: ['state_conflict', 'operation_forbidden'],
    changes: 'getIdentityProvider',
  },
} as const satisfies Operations

export function identityProviderHandlers({
  identityProviders: providers,
}: {
  readonly identityProviders: IdentityProviders
}): Handlers<typeof IDENTITY_PROVIDER_OPERATIONS> {
  return {
    createIdentityProvider: async ({ author, body, caller }) => providers.create(author, body, caller.scopes),
    listIdentityProviders: async ({ author, query }) => providers.list(author.tenant, query),
    getIdentityProvider: async ({ author, params }) => providers.get(author.tenant, params.id),
    updateIdentityProvider: async ({ author, params, body, caller }) =>
      providers.update(author, params.id, body, caller.scopes),
    removeIdentityProvider: async ({ author, params, caller }) => providers.remove(author, params.id, caller.scopes),
  }
}
