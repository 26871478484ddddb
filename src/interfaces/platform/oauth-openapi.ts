/**
 * The OpenAPI document of the gateway's OAuth paths, which have another address than the platform API.
 *
 * `/openapi.json` links to it. Errors are those of RFC 6749 (5.2 and 4.1.2.1), not problem documents.
 */

import { devicePaths } from './oauth-openapi-device.ts'
import { answers, client, failure, FORM, form, long, type Fragment } from './oauth-openapi-parts.ts'
import { registrationPath } from './oauth-openapi-registration.ts'
import type { Schema } from './schema-type.ts'
import { object, text } from './schemas.ts'

export interface OauthOpenApiOptions {
  readonly baseUrl: string
  readonly gatewayUrl: string
}

const apiName = { name: 'api', in: 'path', required: true, schema: { type: 'string', maxLength: 128 } }
const apiParameter = {
  ...apiName,
  description: 'Technical name of the API, such as `payments-v1`.',
  example: 'payments-v1',
}

const tokenForm = form(
  {
    grant_type: {
      type: 'string',
      enum: [
        'client_credentials',
        'authorization_code',
        'refresh_token',
        'urn:ietf:params:oauth:grant-type:device_code',
      ],
    },
    ...client,
    scope: { ...long, description: 'Scopes, separated by spaces. Default: all granted scopes.' },
    code: { ...long, description: 'The authorization code.' },
    code_verifier: { ...long, description: 'Required with an authorization code (RFC 7636).' },
    redirect_uri: { ...long, description: 'If sent, the redirect URI of the authorization request.' },
    refresh_token: { ...long, description: 'A refresh token that has not been used.' },
    device_code: { ...long, description: 'The code of a device (RFC 8628).' },
    resource: { ...long, description: 'The address of the API (RFC 8707).' },
  },
  ['grant_type'],
)
const tokenAnswer = object(
  {
    access_token: { ...text, description: 'A JWT (RFC 9068).' },
    token_type: { type: 'string', const: 'Bearer' },
    expires_in: { type: 'integer', description: 'Seconds.' },
    scope: text,
    refresh_token: { ...text, description: 'Issued if the client is entitled to it; replaces the one that was used.' },
    id_token: { ...text, description: 'Issued for an authorization code whose scopes include `openid`.' },
  },
  ['access_token', 'token_type', 'expires_in', 'scope'],
)
const tokenInput = form({ token: { ...long, maxLength: 16_384 }, ...client }, ['token'])

export function buildOauthOpenApi({ baseUrl, gatewayUrl }: OauthOpenApiOptions): Schema {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gateway OAuth',
      version: '1.0.0',
      description:
        'Tokens, keys and discovery of every API of the gateway. Each API is a separate issuer. The platform API is ' +
        'described by the document in `externalDocs`.',
      contact: { name: 'The operator of this gateway', url: baseUrl },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'The platform API', url: `${baseUrl}/openapi.json` },
    servers: [{ url: gatewayUrl }],
    tags: [
      { name: 'Tokens', description: 'Issue, introspect and revoke tokens.' },
      { name: 'Sign-in', description: 'Sign-in of people (OpenID Connect).' },
      { name: 'Discovery', description: 'Keys and metadata for clients and resource servers.' },
    ],
    security: [],
    paths: {
      ...tokenPaths(),
      ...loginPaths(),
      ...callbackPath(),
      ...passwordPaths(),
      ...devicePaths(),
      ...registrationPath(apiParameter),
      ...discoveryPaths(),
    },
    components: {
      schemas: { OAuthError: object({ error: text, error_description: text }, ['error']), Token: tokenAnswer },
      securitySchemes: {
        client: {
          type: 'http',
          scheme: 'basic',
          description: 'Client id and secret; both may be sent in the form too.',
        },
        token: { type: 'http', scheme: 'bearer', description: 'An access token with the scope `openid`.' },
      },
    },
  }
}

function tokenPaths(): Fragment {
  const token = { $ref: '#/components/schemas/Token' }
  return Object.fromEntries(
    [
      ['', ''],
      ['/v1', 'OfMember'],
    ].flatMap(([prefix = '', suffix = '']) => {
      const of = prefix === '' ? '' : ' (the address for members of a product)'
      const path = `/{api}${prefix}/oauth2/v2`
      return [
        [`${path}/token`, posting(`issueToken${suffix}`, `Issues a token${of}`, tokenForm, token)],
        [
          `${path}/introspect`,
          posting(`introspectToken${suffix}`, `Introspects a token (RFC 7662)${of}`, tokenInput, {
            ...object({ active: { type: 'boolean' } }),
            additionalProperties: true,
          }),
        ],
        [
          `${path}/revoke`,
          posting(
            `revokeToken${suffix}`,
            `Revokes an access token or a refresh token (RFC 7009)${of}`,
            tokenInput,
            null,
          ),
        ],
        [`${path}/userinfo`, userinfo(suffix, of)],
      ]
    }),
  )
}

function posting(operationId: string, summary: string, form: Schema, answer: Schema | null): Fragment {
  return {
    parameters: [apiParameter],
    post: {
      operationId,
      summary,
      tags: ['Tokens'],
      security: [{ client: [] }, {}],
      requestBody: { required: true, content: { [FORM]: { schema: form } } },
      responses: answers(200, summary, answer, ['400', '401', '404', '429', '503']),
    },
  }
}

function userinfo(suffix: string, of: string): Fragment {
  const claims = { ...object({ sub: text, name: text, preferred_username: text }, ['sub']), additionalProperties: true }
  const summary = `The person that a token was issued for${of}`
  const shared = { summary, tags: ['Sign-in'], security: [{ token: [] }] }
  const responses = answers(200, summary, claims, ['400', '401', '404', '503'])
  return {
    parameters: [apiParameter],
    get: { operationId: `getUserinfo${suffix}`, ...shared, responses },
    post: { operationId: `postUserinfo${suffix}`, ...shared, responses },
  }
}

function loginPaths(): Fragment {
  const wanted: Readonly<Record<string, Schema>> = {
    response_type: { type: 'string', enum: ['code'], description: 'An authorization code.' },
    client_id: { ...long, description: 'The client id of a PKCE credential.' },
    code_challenge: { ...long, description: 'RFC 7636, 4.2.' },
    code_challenge_method: { type: 'string', enum: ['S256'], description: 'RFC 7636, 4.2.' },
  }
  const optional: Readonly<Record<string, Schema>> = {
    redirect_uri: { ...long, description: 'Default: the only one that is registered.' },
    scope: { ...long, description: 'Scopes, separated by spaces. `openid` also requests an ID token.' },
    state: { ...long, description: 'Returned unchanged.' },
    nonce: { ...long, description: 'Copied into the ID token.' },
    resource: { ...long, description: 'The address of an API. Default: that of the subscription.' },
  }
  const parameters = Object.entries({ ...wanted, ...optional }).map(([name, { description, ...schema }]) => ({
    ...{ name, in: 'query', description, required: name in wanted, schema },
  }))
  const html = { 'text/html': { schema: { type: 'string' } } }
  const responses = {
    200: { description: 'The sign-in page or the consent page.', content: html },
    303: { description: 'Redirects to the client, with `code` or `error` (RFC 6749, 4.1.2).' },
    400: { description: 'The client or its redirect URI is unknown; the browser is not redirected.', content: html },
    503: failure('503'),
    default: failure('default'),
  }
  return {
    '/oauth2/v2/authorize': {
      get: {
        operationId: 'authorize',
        summary: 'Begins a sign-in with an authorization code and PKCE',
        tags: ['Sign-in'],
        security: [],
        parameters,
        responses,
      },
      post: {
        operationId: 'continueLogin',
        summary: 'Continues a sign-in with the form of the sign-in page or the consent page',
        tags: ['Sign-in'],
        security: [],
        requestBody: { required: true, content: { [FORM]: { schema: { type: 'object' } } } },
        responses,
      },
    },
  }
}

function callbackPath(): Fragment {
  const html = { 'text/html': { schema: { type: 'string' } } }
  const provider = { name: 'provider', in: 'path', required: true, schema: { type: 'string', maxLength: 64 } }
  return {
    '/oauth2/v2/callback/{provider}': {
      get: {
        operationId: 'returnFromProvider',
        summary: 'Continues a sign-in at an identity provider, which redirects here',
        tags: ['Sign-in'],
        security: [],
        parameters: [{ ...provider, description: 'The id of the identity provider.' }],
        responses: {
          200: { description: 'The consent page.', content: html },
          303: { description: 'Redirects to the client, with `error=access_denied`.' },
          400: { description: 'The sign-in has expired or began in another browser.', content: html },
          403: { description: 'The person has no account or no role.', content: html },
          502: { description: 'The identity provider did not prove who the person is.', content: html },
          503: failure('503'),
          default: failure('default'),
        },
      },
    },
  }
}

function passwordPaths(): Fragment {
  const html = { 'text/html': { schema: { type: 'string' } } }
  const responses = {
    200: { description: 'The page of the link.', content: html },
    400: { description: 'The link does not work, or the password breaks the rule.', content: html },
    503: failure('503'),
    default: failure('default'),
  }
  const link = { name: 'link', in: 'query', required: true, schema: { type: 'string', maxLength: 128 } }
  const shared = { tags: ['Sign-in'], security: [], responses }
  return {
    '/oauth2/v2/password': {
      get: {
        operationId: 'openLink',
        summary: 'Shows the page of a one-time link',
        parameters: [{ ...link, description: 'The text of the link.' }],
        ...shared,
      },
      post: {
        operationId: 'useLink',
        summary: 'Sets a password with a one-time link',
        requestBody: { required: true, content: { [FORM]: { schema: { type: 'object' } } } },
        ...shared,
      },
    },
  }
}

function discoveryPaths(): Fragment {
  const document = { type: 'object', additionalProperties: true }
  const keys = { ...object({ keys: { type: 'array', maxItems: 100, items: document } }) }
  const get = (operationId: string, summary: string, schema: Schema, codes: readonly string[]): Fragment => ({
    get: { operationId, summary, tags: ['Discovery'], security: [], responses: answers(200, summary, schema, codes) },
  })
  return {
    '/.well-known/jwks': get('getKeys', 'Public keys that verify tokens (RFC 7517)', keys, ['503']),
    '/{api}/.well-known/openid-configuration': {
      parameters: [apiParameter],
      ...get('getOpenIdConfiguration', 'Metadata of an API as an OpenID provider', document, ['404', '503']),
    },
    '/.well-known/oauth-authorization-server/{api}': {
      parameters: [apiParameter],
      ...get('getAuthorizationServer', 'Metadata of an API as an issuer (RFC 8414)', document, ['404', '503']),
    },
    '/.well-known/oauth-protected-resource/{api}': {
      parameters: [apiParameter],
      ...get('getApiResource', 'Metadata of an API as a protected resource (RFC 9728)', document, ['404', '503']),
    },
    '/.well-known/oauth-protected-resource/{api}/mcp': {
      parameters: [apiParameter],
      ...get('getMcpResource', 'Metadata of the MCP endpoint of an API (RFC 9728)', document, ['404', '503']),
    },
  }
}
