/**
 * Finds references to an object of another kind than the one expected, and references that lead in a circle.
 *
 * If the gateway ignored them, requests would pass that the author of the document expects it to check.
 */

import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { fieldsOf } from '../../foundation/json/fields.ts'
import { escapePointer, resolvePointer } from '../../foundation/json/references.ts'
import { KEYWORDS } from '../../foundation/json/schema-keywords.ts'

type Kind =
  | 'document'
  | 'component list'
  | 'path item'
  | 'operation'
  | 'parameter'
  | 'request body'
  | 'response'
  | 'header'
  | 'media type'
  | 'encoding'
  | 'schema'
  | 'security scheme'
  | 'link'
  | 'callback'
type Form = 'one' | 'list' | 'map'
type Member = readonly [form: Form, kind: Kind]
type Members = Readonly<Record<string, Member>>

const CONTENT: Member = ['map', 'media type']
const OPERATION: Member = ['one', 'operation']
const SCHEMA: Member = ['one', 'schema']

/** The members of each kind of object that hold objects which can be references, or lead to them. */
const MEMBERS: Readonly<Record<Kind, Members>> = {
  document: { paths: ['map', 'path item'], webhooks: ['map', 'path item'], components: ['one', 'component list'] },
  'component list': {
    schemas: ['map', 'schema'],
    responses: ['map', 'response'],
    parameters: ['map', 'parameter'],
    requestBodies: ['map', 'request body'],
    headers: ['map', 'header'],
    securitySchemes: ['map', 'security scheme'],
    links: ['map', 'link'],
    callbacks: ['map', 'callback'],
    pathItems: ['map', 'path item'],
  },
  'path item': {
    parameters: ['list', 'parameter'],
    additionalOperations: ['map', 'operation'],
    ...Object.fromEntries(
      'get put post delete options head patch trace query'.split(' ').map((method) => [method, OPERATION]),
    ),
  },
  operation: {
    parameters: ['list', 'parameter'],
    requestBody: ['one', 'request body'],
    responses: ['map', 'response'],
    callbacks: ['map', 'callback'],
  },
  parameter: { schema: SCHEMA, content: CONTENT },
  header: { schema: SCHEMA, content: CONTENT },
  'request body': { content: CONTENT },
  response: { headers: ['map', 'header'], content: CONTENT, links: ['map', 'link'] },
  'media type': { schema: SCHEMA, itemSchema: SCHEMA, encoding: ['map', 'encoding'] },
  encoding: { headers: ['map', 'header'] },
  schema: Object.fromEntries(
    [...KEYWORDS].flatMap(([keyword, kind]) =>
      kind === 'plain' ? [] : [[keyword, [kind === 'named' ? 'map' : 'one', 'schema'] as const]],
    ),
  ),
  'security scheme': {},
  link: {},
  callback: {},
}

interface Reference {
  readonly from: object
  readonly kind: Kind
  readonly text: string
  readonly pointer: string
}

const FAULTS_MAX = 500
/** References that are followed from a path item, a parameter, a body, a response or a security scheme to its content. */
const CHAIN_MAX = 16
/** Stands for the kind of an object that is not of one kind. */
const NO_KIND = 'none'

export function findMisledReferences(document: unknown): ProblemPointer[] {
  const kinds = new Map<unknown, Kind | typeof NO_KIND>()
  const references: Reference[] = []
  /** Places of values that are no objects, which are faults of their own. */
  const misplaced = new Set<string>()
  const targetOf = createResolver(document)
  /** The schemas of responses are checked as far as possible. */
  let isInResponse = false

  function walk(value: unknown, kind: Kind, pointer: string): void {
    // A list where a keyword also allows a single schema.
    if (Array.isArray(value) && kind === 'schema') return walkEach(value, kind, pointer)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      misplaced.add(`#${pointer}`)
      return
    }
    kinds.set(value, kinds.has(value) && kinds.get(value) !== kind ? NO_KIND : kind)
    const { $ref: text } = fieldsOf(value)
    const isChecked = typeof text === 'string' && !(isInResponse && kind === 'schema')
    if (isChecked) references.push({ from: value, kind, text, pointer: `${pointer}/$ref` })
    // The members of a callback have names chosen by the author.
    if (kind === 'callback') return walkEach(value, 'path item', pointer)
    const isNested = isInResponse
    isInResponse ||= kind === 'response'
    for (const [name, [form, inner]] of Object.entries(MEMBERS[kind])) {
      const member = Object.hasOwn(value, name) ? fieldsOf(value)[name] : undefined
      if (member === undefined) continue
      const at = `${pointer}/${name}`
      if (form === 'one') walk(member, inner, at)
      else walkEach(member, inner, at)
    }
    isInResponse = isNested
  }

  function walkEach(values: unknown, kind: Kind, pointer: string): void {
    if (typeof values !== 'object' || values === null) return
    if (!kinds.has(values)) kinds.set(values, NO_KIND)
    for (const [name, value] of Object.entries(values)) {
      if (!name.startsWith('x-') || kind === 'schema') walk(value, kind, `${pointer}/${escapePointer(name)}`)
    }
  }

  walk(document, 'document', '')
  for (const [name, value] of Object.entries(fieldsOf(document))) {
    if (!kinds.has(value) && !name.startsWith('x-')) kinds.set(value, NO_KIND)
  }
  const isMisled = ({ kind, text }: Reference): boolean => {
    const target = targetOf(text)
    // A target that does not exist is another fault.
    if (target === undefined || misplaced.has(text) || (kind === 'schema' && typeof target === 'boolean')) return false
    return target !== fieldsOf(target) || (kinds.get(target) ?? kind) !== kind
  }
  const misled = references
    .filter(isMisled)
    .map(({ kind, pointer }) => ({ pointer, detail: `The reference must lead to ${describe(kind)}.` }))
  // Schemas that refer to each other are checked when they are compiled.
  const others = references.filter(({ kind }) => kind !== 'schema')
  return [...misled, ...findCircles(others, targetOf)].slice(0, FAULTS_MAX)
}

function describe(kind: Kind): string {
  return `${kind === 'operation' || kind === 'encoding' ? 'an' : 'a'} ${kind}`
}

/** Many references have the same target. */
function createResolver(document: unknown): (reference: string) => unknown {
  const targets = new Map<string, unknown>()
  return (reference) => {
    if (!reference.startsWith('#/')) return undefined
    if (!targets.has(reference)) targets.set(reference, resolvePointer(document, reference))
    return targets.get(reference)
  }
}

/** Finds references that lead to references only, in a circle or in a long chain; each is reported once. */
function findCircles(references: readonly Reference[], targetOf: (reference: string) => unknown): ProblemPointer[] {
  const byPlace = new Map<unknown, Reference>(references.map((reference) => [reference.from, reference]))
  /** The number of references from here to an object. */
  const lengths = new Map<Reference, number>()
  const faults: ProblemPointer[] = []
  for (const first of references) {
    const chain = new Set<Reference>()
    let next: Reference | undefined = first
    for (; next !== undefined && !chain.has(next) && !lengths.has(next); next = byPlace.get(targetOf(next.text)))
      chain.add(next)
    if (next !== undefined && chain.has(next))
      faults.push({ pointer: next.pointer, detail: 'The references lead in a circle.' })
    let length = next === undefined ? 0 : (lengths.get(next) ?? -Infinity)
    for (const reference of [...chain].reverse()) {
      lengths.set(reference, ++length)
      if (length === CHAIN_MAX + 1)
        faults.push({ pointer: reference.pointer, detail: 'The chain of references is too long.' })
    }
  }
  return faults
}
