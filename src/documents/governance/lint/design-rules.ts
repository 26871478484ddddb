/** Rules for the design of an API: paths, names, pagination, errors. */

import { fieldsOf } from '../../../foundation/json/fields.ts'
import { mediaOf, type LintDocument, type LintOperation } from './lint-document.ts'
import type { Rule } from './rule.ts'

const HYPHENS = /^[a-z0-9]+(?:[-.][a-z0-9]+)*$/
const CAMEL = /^[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)*$/
const VERB = /^(?:get|list|create|make|add|update|change|delete|remove|fetch|set)(?:-|$|[A-Z])/
const ID = /^[a-z][A-Za-z0-9]*$/
const LIST_NAMES = ['items', 'data', 'results', 'values', 'entries', 'records'] as const
const PAGE_PARAMETERS: ReadonlySet<string> = new Set(
  'limit cursor page offset per_page perPage pageSize page_size pageToken page_token size top skip after before'.split(
    ' ',
  ),
)

function pathsOf({ operations }: LintDocument): ReadonlyMap<string, string> {
  return new Map(operations.map(({ path, itemPointer }) => [path, itemPointer]))
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/** Returns the segments that are not parameters. A registry spells the names of well-known paths (RFC 8615). */
function wordsOf(path: string): readonly string[] {
  return path.startsWith('/.well-known/') ? [] : segmentsOf(path).filter((segment) => !segment.includes('{'))
}

/** Tests whether a successful response is an unbounded list, or an object that holds one. */
function returnsList({ responses }: LintOperation): boolean {
  return responses
    .filter(({ status }) => status.startsWith('2'))
    .flatMap(mediaOf)
    .some(({ fields }) => {
      const schema = fieldsOf(fields['schema'])
      const properties = fieldsOf(schema['properties'])
      return [schema, ...LIST_NAMES.map((name) => fieldsOf(properties[name]))].some(
        ({ type, maxItems }) => type === 'array' && maxItems === undefined,
      )
    })
}

export const DESIGN_RULES: readonly Rule[] = [
  {
    id: 'path-spelling',
    per: 'path',
    category: 'design',
    severity: 'warning',
    message: 'The path is not in lower case with hyphens, or its style differs from the other paths.',
    advice: 'Write every segment like `gift-cards`, or every segment like `giftCards`.',
    *find(document) {
      const paths = pathsOf(document)
      const segments = [...paths.keys()].flatMap(wordsOf)
      const isHyphenated = segments.some((segment) => segment.includes('-'))
      for (const [path, pointer] of paths) {
        const isSound = wordsOf(path).every((word) => HYPHENS.test(word) || (!isHyphenated && CAMEL.test(word)))
        if (!isSound) yield pointer
      }
    },
  },
  {
    id: 'path-trailing-slash',
    per: 'path',
    category: 'design',
    severity: 'warning',
    message: 'The path ends with a slash.',
    advice: 'Remove the trailing slash; `/a` and `/a/` are different paths.',
    *find(document) {
      for (const [path, pointer] of pathsOf(document)) if (path.length > 1 && path.endsWith('/')) yield pointer
    },
  },
  {
    id: 'path-verb',
    per: 'path',
    category: 'design',
    severity: 'info',
    message: 'The path contains a verb that the HTTP method already expresses.',
    advice: 'Name resources in the path: `POST /payments` instead of `/create-payment`.',
    *find(document) {
      for (const [path, pointer] of pathsOf(document))
        if (segmentsOf(path).some((segment) => VERB.test(segment))) yield pointer
    },
  },
  {
    id: 'operation-id',
    category: 'design',
    severity: 'warning',
    message: 'The operation has no `operationId`.',
    advice: 'Add an `operationId`; limits, entitlements and generated clients refer to it.',
    *find({ operations }) {
      for (const { fields, pointer } of operations) if (typeof fields['operationId'] !== 'string') yield pointer
    },
  },
  {
    id: 'operation-id-spelling',
    category: 'design',
    severity: 'info',
    message: 'The `operationId` is not in camel case.',
    advice: 'Write it like `listPayments`; generated clients use it as a method name.',
    *find({ operations }) {
      for (const { fields, pointer } of operations) {
        const { operationId } = fields
        if (typeof operationId === 'string' && !ID.test(operationId)) yield `${pointer}/operationId`
      }
    },
  },
  {
    id: 'success-response',
    category: 'design',
    severity: 'error',
    message: 'The operation declares no successful response.',
    advice: 'Declare a response with a 2xx or 3xx status.',
    *find({ operations }) {
      for (const { responses, pointer } of operations) {
        if (!responses.some(({ status }) => /^[123]/.test(status) || status === 'default')) yield `${pointer}/responses`
      }
    },
  },
  {
    id: 'pagination',
    category: 'design',
    severity: 'warning',
    message: 'The operation returns a list without pagination.',
    advice:
      'Add the query parameters `limit` and `cursor` (or `page`), so that responses stay small as the list grows.',
    *find({ operations }) {
      for (const operation of operations) {
        if (operation.method !== 'GET' || !returnsList(operation)) continue
        const names = operation.parameters.map(({ fields }) => String(fields['name']))
        if (!names.some((name) => PAGE_PARAMETERS.has(name))) yield operation.pointer
      }
    },
  },
  {
    id: 'problem-details',
    category: 'design',
    severity: 'info',
    message: 'An error response is not a problem document.',
    advice: 'Return errors as `application/problem+json` (RFC 9457), so that clients handle all errors in one way.',
    *find({ operations }) {
      const seen = new Set<string>()
      for (const { responses } of operations) {
        for (const response of responses) {
          const types = mediaOf(response).map(({ type }) => type)
          const isError = /^[45]/.test(response.status) || response.status === 'default'
          if (!isError || types.length === 0 || seen.has(response.pointer)) continue
          seen.add(response.pointer)
          if (!types.some((type) => type.startsWith('application/problem+'))) yield response.pointer
        }
      }
    },
  },
  {
    id: 'body-of-get',
    category: 'design',
    severity: 'warning',
    message: 'A GET, HEAD or DELETE operation declares a request body.',
    advice: 'Use parameters instead; a request body has no defined meaning in these methods (RFC 9110, section 9.3).',
    *find({ operations }) {
      for (const { method, body, pointer } of operations) {
        if (body !== null && ['GET', 'HEAD', 'DELETE'].includes(method)) yield `${pointer}/requestBody`
      }
    },
  },
]
