/** What an attacker would read in the document: OWASP API Security Top 10 (2023), as far as a document shows it. */

import { fieldsOf } from '../../json/fields.ts'
import type { LintDocument, LintOperation, LintSchema } from './lint-document.ts'
import type { Rule } from './rule.ts'

const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
const SECRET_NAME = /^(?:access_?token|api_?key|auth|client_?secret|jwt|pass(?:word)?|pwd|secret|session_?id|token)$/i
/** Keys as their makers print them: cloud, forge, payment, chat, private keys. */
const SECRET_VALUE =
  /AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|sk_live_[A-Za-z0-9]{16,}|xox[baprs]-[A-Za-z0-9-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|AIza[0-9A-Za-z_-]{35}|whsec_[A-Za-z0-9+/=]{24,}/
const NUMERIC: ReadonlySet<unknown> = new Set(['integer', 'number'])

function typeIs(schema: LintSchema, wanted: string): boolean {
  const { type } = schema.fields
  return type === wanted || (Array.isArray(type) && type.includes(wanted))
}

function declares({ responses }: LintOperation, status: string): boolean {
  return responses.some((each) => each.status === status || each.status === '4XX' || each.status === 'default')
}

const isSecured = ({ security }: LintOperation): boolean => security !== null && security.length > 0

/** Every way in asks for something beyond who calls. */
function asksForScopes({ security }: LintOperation): boolean {
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
    message: 'The operation does not say who may call it (API2, API5).',
    advice: 'Declare `security`, for the operation or the document; `security: []` where it is meant for everybody.',
    *find({ operations }) {
      for (const { security, pointer } of operations) if (security === null) yield pointer
    },
  },
  {
    id: 'security-public-write',
    category: 'security',
    severity: 'warning',
    message: 'Anybody may change something here (API2).',
    advice: 'Ask for a credential, or say in the description why none is needed.',
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
    message: 'The scheme hands passwords around (API2).',
    advice:
      'Use OAuth 2 with client credentials or code and PKCE; leave basic, digest and the implicit and password flows.',
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
    message: 'A credential travels in the address, where logs and histories keep it (API2).',
    advice: 'Send it in a header.',
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
    message: 'A server is reached over plain http (API8).',
    advice: 'Use https.',
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
    message: 'This looks like a secret that is in use.',
    advice: 'Revoke it, and write an example that nobody can use.',
    *find({ fields }) {
      yield* secretsIn(fields)
    },
  },
  {
    id: 'security-guessable-id',
    category: 'security',
    severity: 'info',
    message: 'The id in the path is a number that can be counted through (API1).',
    advice: 'Use ids that cannot be guessed, such as UUIDs.',
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
    category: 'security',
    severity: 'warning',
    message: 'Callers may send members of any name (API3).',
    advice: 'Leave `additionalProperties: true` out of what callers send, or bound it with `maxProperties`.',
    *find({ schemas }) {
      for (const { fields, pointer, isRequest } of schemas) {
        if (isRequest && fields['additionalProperties'] === true && fields['maxProperties'] === undefined) yield pointer
      }
    },
  },
  {
    id: 'security-unbounded-string',
    category: 'security',
    severity: 'info',
    message: 'Callers may send a text of any length (API4).',
    advice: 'Give `maxLength`, an `enum`, a `format` or a `pattern`.',
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
    category: 'security',
    severity: 'info',
    message: 'Callers may send a list of any length (API4).',
    advice: 'Give `maxItems`.',
    *find({ schemas }) {
      for (const schema of schemas) {
        if (schema.isRequest && typeIs(schema, 'array') && schema.fields['maxItems'] === undefined) yield schema.pointer
      }
    },
  },
  {
    id: 'security-unbounded-number',
    category: 'security',
    severity: 'info',
    message: 'Callers may send a number of any size (API4).',
    advice: 'Give `minimum` and `maximum`, or a `format` such as int32.',
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
    message: 'What callers without a credential are answered is not declared (API8).',
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
    message: 'What callers whose scopes do not reach are answered is not declared (API5).',
    advice: 'Declare 403, `4XX` or `default`.',
    *find({ operations }) {
      for (const operation of operations)
        if (asksForScopes(operation) && !declares(operation, '403')) yield `${operation.pointer}/responses`
    },
  },
  {
    id: 'security-missing-429',
    category: 'security',
    severity: 'info',
    message: 'What callers over a limit are answered is not declared (API4).',
    advice: 'Declare 429, `4XX` or `default`.',
    *find({ operations }) {
      for (const operation of operations) if (!declares(operation, '429')) yield `${operation.pointer}/responses`
    },
  },
  {
    id: 'security-missing-400',
    category: 'security',
    severity: 'info',
    message: 'What callers that send something wrong are answered is not declared (API8).',
    advice: 'Declare 400, 422, `4XX` or `default`.',
    *find({ operations }) {
      for (const operation of operations) {
        const takes = operation.body !== null || operation.parameters.length > 0
        if (takes && !declares(operation, '400') && !declares(operation, '422')) yield `${operation.pointer}/responses`
      }
    },
  },
]

/** Texts anywhere in the document, without recursion. */
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
