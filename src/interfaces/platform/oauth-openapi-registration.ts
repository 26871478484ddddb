/** The path at which clients register themselves (RFC 7591). */

import { answers, failure, type Fragment } from './oauth-openapi-parts.ts'
import { object, text } from './schemas.ts'

const uris = {
  type: 'array',
  minItems: 1,
  maxItems: 10,
  items: { type: 'string', maxLength: 512 },
  description:
    'https, or http on a loopback host, whose port is ignored. Without a fragment, a user name or a password.',
} as const
const name = {
  type: 'string',
  maxLength: 1_024,
  description: 'Shown to people, reduced to letters and digits.',
} as const
const method = { type: 'string', enum: ['none'], description: 'The client is public, and uses PKCE.' } as const
const responseTypes = { type: 'array', maxItems: 1, items: { type: 'string', enum: ['code'] } } as const
const grantTypes = (values: readonly string[]) =>
  ({ type: 'array', maxItems: values.length, items: { type: 'string', enum: values } }) as const

/** Other members are ignored (RFC 7591, 2). */
const input = {
  type: 'object',
  required: ['redirect_uris'],
  properties: {
    redirect_uris: uris,
    client_name: name,
    token_endpoint_auth_method: method,
    grant_types: grantTypes(['authorization_code', 'refresh_token']),
    response_types: responseTypes,
  },
} as const
const example = { client_name: 'Reporter', redirect_uris: ['http://127.0.0.1/callback'] }
const registered = object(
  {
    client_id: text,
    client_id_issued_at: { type: 'integer', description: 'Seconds since 1970.' },
    client_name: name,
    redirect_uris: uris,
    token_endpoint_auth_method: method,
    grant_types: grantTypes(['authorization_code']),
    response_types: responseTypes,
  },
  ['client_id', 'client_id_issued_at', 'redirect_uris', 'token_endpoint_auth_method', 'grant_types', 'response_types'],
)

export function registrationPath(apiParameter: Fragment): Fragment {
  const summary = 'Registers a client without a secret, for people who sign in (RFC 7591)'
  return {
    '/{api}/oauth2/v2/register': {
      parameters: [apiParameter],
      post: {
        operationId: 'registerClient',
        summary,
        description:
          'Exists only if the operator allows it (`MCP_DYNAMIC_REGISTRATION`); `registration_endpoint` of the metadata names ' +
          'it. The client has no rights of its own.',
        tags: ['Sign-in'],
        security: [],
        requestBody: { required: true, content: { 'application/json': { schema: input, example } } },
        responses: {
          ...answers(201, 'The client, with what was registered.', registered, ['400', '404', '503']),
          429: {
            ...failure('429'),
            description: 'Too many clients have registered. `Retry-After` contains the time to wait.',
          },
        },
      },
    },
  }
}
