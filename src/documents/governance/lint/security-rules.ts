/** Rules from the OWASP API Security Top 10 (2023), as far as a document can show a risk. */

import { fieldsOf } from '../../../foundation/json/fields.ts'
import { typeIs, type LintDocument, type LintOperation } from './lint-document.ts'
import type { Rule } from './rule.ts'

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
const SECRET_NAME = /^(?:access_?token|api_?key|auth|client_?secret|jwt|pass(?:word)?|pwd|secret|session_?id|token)$/i
/** Formats of issued keys: cloud, source hosting, payment and chat providers, webhook secrets, private keys. */
const SECRET_VALUE =
  /AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|sk_live_[A-Za-z0-9]{16,}|xox[baprs]-[A-Za-z0-9-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|AIza[0-9A-Za-z_-]{35}|whsec_[A-Za-z0-9+/=]{24,}/
const NUMERIC: ReadonlySet<unknown> = new Set(['integer', 'number'])

function declares({ responses }: LintOperation, status: string): boolean {
  return responses.some((each) => each.status === status || each.status === '4XX' || each.status === 'default')
}

const isSecured = ({ security }: LintOperation): boolean => security !== null && security.length > 0

/** Tests whether each alternative in `security` requires a scope, not only an identity. */
function requiresScopes({ security }: LintOperation): boolean {
  if (security === null || security.length === 0) return false
  return security.every((way) =>
    Object.values(fieldsOf(way)).some((scopes) => Array.isArray(scopes) && scopes.length > 0),
  )
}

function* schemes({
  fields,
}: LintDocument): Iterable<{ name: string; scheme: ReturnType<typeof fieldsOf>; pointer: string }> {
  const declared = fieldsOf(fieldsOf(fields['components'])['securitySchemes'])
  for (const [name, scheme] of Object.entries(declared)) {
    yield {
      name,
      scheme: fieldsOf(scheme),
      pointer: `/components/securitySchemes/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    }
  }
}

export const SECURITY_RULES: readonly Rule[] = [
  {
    id: 'security-declared',
    category: 'security',
    severity: 'warning',
    message: 'The operation does not declare who may call it (API2, API5).',
    advice: 'Declare `security` for the operation or the document; use `security: []` if the operation is public.',
    *find({ operations }) {
      for (const { security, pointer } of operations) if (security === null) yield pointer
    },
  },
  {
    id: 'security-public-write',
    category: 'security',
    severity: 'warning',
    message: 'A caller without a credential can change data (API2).',
    advice: 'Require a credential, or explain in the description why none is needed.',
    *find({ operations }) {
      for (const { method, security, pointer } of operations) {
        if (WRITES.has(method) && security !== null && security.length === 0) yield `${pointer}/security`
      }
    },
  },
  {
    id: 'security-weak-scheme',
    category: 'security',
    severity: 'error',
    message: 'The security scheme exposes passwords or tokens (API2).',
    advice:
      'Use OAuth 2.0 with client credentials, or with the authorization code flow and PKCE, instead of HTTP basic, HTTP digest and the implicit and password flows.',
    *find(document) {
      for (const { scheme, pointer } of schemes(document)) {
        const { type, scheme: http, flows } = scheme
        const isWeakHttp = type === 'http' && !/^bearer$/i.test(String(http))
        const isWeakFlow =
          type === 'oauth2' && ['implicit', 'password'].some((flow) => fieldsOf(flows)[flow] !== undefined)
        if (isWeakHttp || isWeakFlow) yield pointer
      }
    },
  },
  {
    id: 'security-key-in-url',
    category: 'security',
    severity: 'error',
    message: 'A credential is part of the URL, where access logs and browser histories record it (API2).',
    advice: 'Send the credential in a header.',
    *find(document) {
      for (const { scheme, pointer } of schemes(document)) {
        if (scheme['type'] === 'apiKey' && scheme['in'] === 'query') yield pointer
      }
      for (const { parameters } of document.operations) {
        for (const { fields, pointer } of parameters) {
          if ((fields['in'] === 'query' || fields['in'] === 'path') && SECRET_NAME.test(String(fields['name'])))
            yield pointer
        }
      }
    },
  },
  {
    id: 'security-plain-http',
    category: 'security',
    severity: 'warning',
    message: 'A server URL uses unencrypted HTTP (API8).',
    advice: 'Use HTTPS.',
    *find({ fields }) {
      const servers = Array.isArray(fields['servers']) ? (fields['servers'] as readonly unknown[]) : []
      for (const [index, server] of servers.entries()) {
        const url = String(fieldsOf(server)['url'])
        if (/^http:\/\//i.test(url) && !/^http:\/\/(?:localhost|127\.|\[::1\])/i.test(url))
          yield `/servers/${index}/url`
      }
    },
  },
  {
    id: 'security-secret',
    category: 'security',
    severity: 'error',
    message: 'This value looks like a real secret.',
    advice: 'Revoke the secret and replace it with an obviously invalid example.',
    *find({ fields }) {
      yield* secretsIn(fields)
    },
  },
  {
    id: 'security-guessable-id',
    category: 'security',
    severity: 'info',
    message: 'The id in the path is a number, which a caller can guess by counting (API1).',
    advice: 'Use random ids, such as UUIDs.',
    *find({ operations }) {
      const seen = new Set<string>()
      for (const { parameters } of operations) {
        for (const { fields, pointer } of parameters) {
          const isId = fields['in'] === 'path' && /(?:^id|_id|Id|-id)$/.test(String(fields['name']))
          if (!isId || seen.has(pointer) || !NUMERIC.has(fieldsOf(fields['schema'])['type'])) continue
          seen.add(pointer)
          yield pointer
        }
      }
    },
  },
  {
    id: 'security-mass-assignment',
    per: 'object',
    category: 'security',
    severity: 'warning',
    message: 'The request schema accepts properties of any name (API3).',
    advice: 'Remove `additionalProperties: true` from the request schema, or set `maxProperties`.',
    *find({ schemas }) {
      for (const { fields, pointer, isRequest } of schemas) {
        if (isRequest && fields['additionalProperties'] === true && fields['maxProperties'] === undefined) yield pointer
      }
    },
  },
  {
    id: 'security-unbounded-string',
    per: 'string',
    category: 'security',
    severity: 'info',
    message: 'The request schema accepts a string of any length (API4).',
    advice: 'Set `maxLength`, `enum`, `format` or `pattern`.',
    *find({ schemas }) {
      for (const schema of schemas) {
        const { maxLength, enum: values, const: constant, format, pattern } = schema.fields
        if (!schema.isRequest || !typeIs(schema, 'string')) continue
        if ([maxLength, values, constant, format, pattern].every((bound) => bound === undefined)) yield schema.pointer
      }
    },
  },
  {
    id: 'security-unbounded-array',
    per: 'array',
    category: 'security',
    severity: 'info',
    message: 'The request schema accepts an array of any length (API4).',
    advice: 'Set `maxItems`.',
    *find({ schemas }) {
      for (const schema of schemas) {
        if (schema.isRequest && typeIs(schema, 'array') && schema.fields['maxItems'] === undefined) yield schema.pointer
      }
    },
  },
  {
    id: 'security-unbounded-number',
    per: 'integer',
    category: 'security',
    severity: 'info',
    message: 'The request schema accepts an integer of any size (API4).',
    advice: 'Set `minimum` and `maximum`, or a `format` such as `int32`.',
    *find({ schemas }) {
      for (const schema of schemas) {
        const { maximum, exclusiveMaximum, enum: values, const: constant, format } = schema.fields
        if (!schema.isRequest || !typeIs(schema, 'integer')) continue
        if ([maximum, exclusiveMaximum, values, constant, format].every((bound) => bound === undefined))
          yield schema.pointer
      }
    },
  },
  {
    id: 'security-missing-401',
    category: 'security',
    severity: 'info',
    message: 'The response to a caller without a valid credential is not declared (API8).',
    advice: 'Declare 401, `4XX` or `default`.',
    *find({ operations }) {
      for (const operation of operations)
        if (isSecured(operation) && !declares(operation, '401')) yield `${operation.pointer}/responses`
    },
  },
  {
    id: 'security-missing-403',
    category: 'security',
    severity: 'info',
    message: 'The response to a caller without the required scope is not declared (API5).',
    advice: 'Declare 403, `4XX` or `default`.',
    *find({ operations }) {
      for (const operation of operations)
        if (requiresScopes(operation) && !declares(operation, '403')) yield `${operation.pointer}/responses`
    },
  },
  {
    id: 'security-missing-429',
    category: 'security',
    severity: 'info',
    message: 'The response to a caller over its limit is not declared (API4).',
    advice: 'Declare 429, `4XX` or `default`.',
    *find({ operations }) {
      for (const operation of operations) if (!declares(operation, '429')) yield `${operation.pointer}/responses`
    },
  },
  {
    id: 'security-missing-400',
    category: 'security',
    severity: 'info',
    message: 'The response to an invalid request is not declared (API8).',
    advice: 'Declare 400, 422, `4XX` or `default`.',
    *find({ operations }) {
      for (const operation of operations) {
        const takes = operation.body !== null || operation.parameters.length > 0
        if (takes && !declares(operation, '400') && !declares(operation, '422')) yield `${operation.pointer}/responses`
      }
    },
  },
]

/** Yields the pointer of each string that looks like a secret; iterative, because documents can be deep. */
function* secretsIn(document: unknown): Iterable<string> {
  const open: { readonly value: unknown; readonly pointer: string }[] = [{ value: document, pointer: '' }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, pointer } = next
    if (typeof value === 'string') {
      if (value.length <= 10_000 && SECRET_VALUE.test(value)) yield pointer
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        if (typeof inner !== 'string' && (typeof inner !== 'object' || inner === null)) continue
        open.push({ value: inner, pointer: `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` })
      }
    }
  }
}
