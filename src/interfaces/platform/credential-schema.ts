/** Schemas of a credential and of its rotation. */

import { id, labels, name, named, nullable, object, scopeNames, text, thumbprint, time } from './schemas.ts'

export const credentialType = { type: 'string', enum: ['OAuth2', 'ApiKey', 'PKCE', 'Federated'] } as const
const credentialFields = {
  id,
  name: { ...nullable(text), description: 'A name that people choose. A rotation passes it on.' },
  type: credentialType,
  clientId: nullable(text),
  clientSecret: nullable(text),
  apiKey: nullable(text),
  keyPrefix: { ...nullable(text), description: 'The first eight characters of the API key.' },
  ApiProductId: nullable(id),
  scopes: scopeNames,
  certificateThumbprint: {
    ...nullable(text),
    description: 'The client certificate over which the credential must be used (`x5t#S256`); null: any connection.',
  },
  state: { type: 'string', enum: ['Active', 'Expiring', 'Expired', 'Revoked'] },
  labels,
  createdAt: time,
  expiresAt: time,
  lastUsedAt: {
    ...nullable(time),
    description:
      'The beginning of the minute in which the credential was last used: for a call that its verification admitted, or for a token. ' +
      'It is no part of the ETag.',
  },
} as const
export const credential = named('Credential', object(credentialFields))
export const rotated = named(
  'RotatedCredentials',
  object({ ...credentialFields, items: { type: 'array', items: credential } }),
)
export const rotation = named(
  'CredentialRotation',
  object(
    {
      overlapSeconds: { type: 'integer', minimum: 0, maximum: 31_536_000, default: 86_400 },
      certificateThumbprint: {
        ...nullable(thumbprint),
        description:
          'Binds the new credentials to a client certificate (RFC 8705); null: to none. By default they are bound as the previous ones.',
      },
    },
    [],
  ),
)
export const credentialChange = named(
  'CredentialChange',
  object({ name: { ...nullable(name), description: 'Null removes it.' }, labels }, []),
)
