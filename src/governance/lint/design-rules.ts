/** How an API is shaped: paths, names, pages, errors. */

import { fieldsOf } from '../../json/fields.ts'
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

/** Segments that are no parameters. */
function wordsOf(path: string): readonly string[] {
  return segmentsOf(path).filter((segment) => !segment.includes('{'))
}

/** An answer that is a list of any length, or an object around one. */
function answersList({ responses }: LintOperation): boolean {
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
    category: 'design',
    severity: 'warning',
    message: 'The path is spelled in another way than lower case with hyphens, or than the other paths.',
    advice: 'Write segments as `gift-cards` throughout, or as `giftCards` throughout.',
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
    category: 'design',
    severity: 'warning',
    message: 'The path ends with a slash.',
    advice: 'Leave the last slash out: `/a` and `/a/` are two paths.',
    *find(document) {
      for (const [path, pointer] of pathsOf(document)) if (path.length > 1 && path.endsWith('/')) yield pointer
    },
  },
  {
    id: 'path-verb',
    category: 'design',
    severity: 'info',
    message: 'The path names an action that the method says already.',
    advice: 'Name things, and let the method say what is done: `POST /payments`, not `/create-payment`.',
    *find(document) {
      for (const [path, pointer] of pathsOf(document))
        if (segmentsOf(path).some((segment) => VERB.test(segment))) yield pointer
    },
  },
  {
    id: 'operation-id',
    category: 'design',
    severity: 'warning',
    message: 'The operation has no id of its own.',
    advice: 'Give an `operationId`: limits, entitlements and clients go by it.',
    *find({ operations }) {
      for (const { fields, pointer } of operations) if (typeof fields['operationId'] !== 'string') yield pointer
    },
  },
  {
    id: 'operation-id-spelling',
    category: 'design',
    severity: 'info',
    message: 'The id of the operation is not in camel case.',
    advice: 'Write ids as `listPayments`: clients make names of methods from them.',
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
    message: 'The operation declares no success.',
    advice: 'Declare what is answered when all goes well: a status of 2xx or 3xx.',
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
    message: 'A list is answered as a whole.',
    advice: 'Take `limit` and `cursor` (or `page`), so that a list that grows stays readable.',
    *find({ operations }) {
      for (const operation of operations) {
        if (operation.method !== 'GET' || !answersList(operation)) continue
        const names = operation.parameters.map(({ fields }) => String(fields['name']))
        if (!names.some((name) => PAGE_PARAMETERS.has(name))) yield operation.pointer
      }
    },
  },
  {
    id: 'problem-details',
    category: 'design',
    severity: 'info',
    message: 'An error is not a problem document.',
    advice: 'Answer errors as `application/problem+json` (RFC 9457): clients read them all in one way.',
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
    message: 'A GET, HEAD or DELETE declares a body.',
    advice: 'Move it to parameters: what a body means there is not defined (RFC 9110, 9.3).',
    *find({ operations }) {
      for (const { method, body, pointer } of operations) {
        if (body !== null && ['GET', 'HEAD', 'DELETE'].includes(method)) yield `${pointer}/requestBody`
      }
    },
  },
]
