/** Keywords of ours, and bounded or exact versions of ajv's, that the schema compiler adds to its ajv instance. */

import { str, type CodeOptions } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { hasDuplicates, toCanonicalText } from '../../foundation/json/canonical-value.ts'
import { compileMultipleOf } from './multiple-of.ts'
import type { Patterns } from './patterns.ts'
import { EQUALS } from './to-ajv-schema.ts'

const FORMAT_LENGTH_MAX = 4_096
/** Formats of texts that are usually long; they are checked in one pass or not at all. */
const LONG_FORMATS: ReadonlySet<string> = new Set(['byte', 'binary', 'password'])

/** Adds a `uniqueItems` that compares no pairs, an exact `multipleOf`, and `EQUALS` for `enum` and `const`. */
export function addKeywords(ajv: Ajv2020): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    error: { message: 'must not have two equal items' },
    validate: (isUnique: boolean, items: readonly unknown[]) => !isUnique || !hasDuplicates(items),
  })
  ajv.removeKeyword('multipleOf')
  ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    errors: false,
    error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
    compile: compileMultipleOf,
  })
  ajv.addKeyword({
    keyword: EQUALS,
    schemaType: 'array',
    errors: false,
    error: { message: 'must be equal to one of the allowed values' },
    compile: (values: readonly unknown[]) => {
      const allowed = new Set(values.map(toCanonicalText))
      return (value) => allowed.has(toCanonicalText(value))
    },
  })
}

/** Adds a keyword that calls `onStep` each time a value is validated against its schema. */
export function addStepKeyword(ajv: Ajv2020, keyword: string, onStep: () => void): void {
  ajv.addKeyword({
    keyword,
    before: '$ref',
    schema: false,
    errors: false,
    validate: () => {
      onStep()
      return true
    },
  })
}

/** Makes every format refuse texts above the bound, so that no pattern takes long. */
export function boundFormats(ajv: Ajv2020): void {
  for (const [name, format] of Object.entries(ajv.formats)) {
    if (LONG_FORMATS.has(name) || format === undefined || typeof format === 'boolean' || typeof format === 'string')
      continue
    const inner: unknown = typeof format === 'object' && 'validate' in format ? format.validate : format
    const test =
      inner instanceof RegExp
        ? (text: string) => inner.test(text)
        : typeof inner === 'function'
          ? (inner as (text: string) => boolean)
          : null
    if (test === null || (typeof format === 'object' && 'type' in format && format.type === 'number')) continue
    ajv.addFormat(name, (text: string) => text.length <= FORMAT_LENGTH_MAX && test(text))
  }
}

/** Returns the option of ajv for its patterns. */
export function linearRegExp(patterns: Patterns): NonNullable<CodeOptions['regExp']> {
  return Object.assign((text: string) => patterns.compile(text), { code: 'linearRegExp' })
}
