/** Rules for the parts of a document that explain the API to its readers. */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { resolvePointer } from '../../../foundation/json/references.ts'
import { mediaOf, type Located } from './lint-document.ts'
import type { Rule } from './rule.ts'

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''

function hasExample(document: Fields, { fields }: Located): boolean {
  if (fields['example'] !== undefined || fields['examples'] !== undefined) return true
  const schema = fieldsOf(fields['schema'])
  const target = typeof schema['$ref'] === 'string' ? fieldsOf(resolvePointer(document, schema['$ref'])) : schema
  return target['example'] !== undefined || target['examples'] !== undefined
}

export const DOCUMENTATION_RULES: readonly Rule[] = [
  {
    id: 'info-description',
    category: 'documentation',
    severity: 'warning',
    message: 'The document does not describe the purpose of the API.',
    advice: 'Describe in `info.description` what the API does and who it is for.',
    *find({ fields }) {
      if (!isText(fieldsOf(fields['info'])['description'])) yield '/info'
    },
  },
  {
    id: 'info-contact',
    category: 'documentation',
    severity: 'info',
    message: 'The document names no contact.',
    advice: 'Name a person or team in `info.contact`.',
    *find({ fields }) {
      if (Object.keys(fieldsOf(fieldsOf(fields['info'])['contact'])).length === 0) yield '/info'
    },
  },
  {
    id: 'operation-summary',
    category: 'documentation',
    severity: 'warning',
    message: 'The operation has neither a summary nor a description.',
    advice: 'Add a `summary` or a `description`.',
    *find({ operations }) {
      for (const { fields, pointer } of operations) {
        if (!isText(fields['summary']) && !isText(fields['description'])) yield pointer
      }
    },
  },
  {
    id: 'parameter-description',
    category: 'documentation',
    severity: 'info',
    message: 'A query parameter has no description.',
    advice: 'Add a `description` to the parameter or to its schema.',
    *find({ operations }) {
      const seen = new Set<string>()
      for (const { parameters } of operations) {
        for (const { fields, pointer } of parameters) {
          if (fields['in'] !== 'query' || seen.has(pointer)) continue
          seen.add(pointer)
          if (!isText(fields['description']) && !isText(fieldsOf(fields['schema'])['description'])) yield pointer
        }
      }
    },
  },
  {
    id: 'example',
    category: 'documentation',
    severity: 'info',
    message: 'A request body has no example.',
    advice: 'Add an `example`; developers start from it.',
    *find({ fields, operations }) {
      for (const { body } of operations) {
        for (const media of body === null ? [] : mediaOf(body)) {
          if (media.type.includes('json') && !hasExample(fields, media)) yield media.pointer
        }
      }
    },
  },
]
