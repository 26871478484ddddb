/**
 * Plans as they are stored and passed between threads: with the document packed.
 *
 * The compiled form of a document can be megabytes, and cloning or parsing it at once would block the thread. Packed, it is
 * compressed JSON with one line per operation, response and component, so that a thread unpacks it in slices.
 */

import { promisify } from 'node:util'
import { gunzip, gzipSync } from 'node:zlib'
import { createPace, type Pace } from '../../foundation/runtime/pace.ts'
import type { CanaryRule } from './canary.ts'
import type { DocumentPlan, OperationPlan, ResponsePlan, RevisionPlan, RoutePlan } from './route-plan.ts'

export interface PackedPlan extends RevisionPlan {
  readonly document: Uint8Array
  /** The revision that serves a part of the callers; missing if there is none. Both are swapped in as one. */
  readonly canary?: PackedCanary
}

export interface PackedCanary {
  readonly rule: CanaryRule
  readonly plan: CanaryPlan
}

/** The products of an API are those of its active revision. */
export type CanaryPlan = Omit<PackedPlan, 'canary' | 'memberOfProductIds'>

/** A plan without its documents. */
export interface PlanHead extends RevisionPlan {
  readonly canary?: { readonly rule: CanaryRule; readonly plan: Omit<CanaryPlan, 'document'> }
}

type Head = Pick<DocumentPlan, 'dialect' | 'readBytesPerSecondMin' | 'mcp' | 'cors'>
type Components = 'components' | 'responseComponents'
type Line =
  | readonly ['operation', OperationPlan]
  | readonly ['response', ResponsePlan]
  /** A section of the components, such as `schemas`; its members follow. */
  | readonly [Components, string]
  | readonly [Components, string, string, unknown]

const LINE_END = 0x0a
/** gzip ends with the size of what it holds. */
const SIZE_BYTES = 4

const decompress = promisify(gunzip)

/** Blocks its thread for as long as compression takes. */
export function packDocument(plan: DocumentPlan): Uint8Array {
  return gzipSync([...linesOf(plan)].map((line) => JSON.stringify(line)).join('\n'))
}

function* linesOf(plan: DocumentPlan): Iterable<Head | Line> {
  const { dialect, readBytesPerSecondMin, mcp, cors, operations, responses } = plan
  yield {
    dialect,
    ...(readBytesPerSecondMin !== undefined && { readBytesPerSecondMin }),
    ...(mcp !== undefined && { mcp }),
    ...(cors !== undefined && { cors }),
  }
  for (const operation of operations) yield ['operation', operation]
  for (const response of responses) yield ['response', response]
  for (const kind of ['components', 'responseComponents'] as const) {
    for (const [section, members] of Object.entries(plan[kind])) {
      yield [kind, section]
      for (const [name, member] of Object.entries(members as object)) yield [kind, section, name, member]
    }
  }
}

/** Unpacks in slices, so that the thread does other work between them. */
export async function unpackDocument(packed: Uint8Array, pace: Pace = createPace()): Promise<DocumentPlan> {
  const bytes = await decompress(packed)
  const operations: OperationPlan[] = []
  const responses: ResponsePlan[] = []
  const components: Record<Components, Section[]> = { components: [], responseComponents: [] }
  let head: Head | null = null
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(LINE_END, from)
    const text = bytes.toString('utf8', from, end < 0 ? bytes.length : end)
    from = end < 0 ? bytes.length : end + 1
    if (head === null) head = JSON.parse(text) as Head
    else {
      const line = JSON.parse(text) as Line
      if (line[0] === 'operation') operations.push(line[1])
      else if (line[0] === 'response') responses.push(line[1])
      else if (line.length === 2) components[line[0]].push([line[1], []])
      else components[line[0]].at(-1)?.[1].push([line[2], line[3]])
    }
    await pace()
  }
  if (head === null) throw new Error('a packed document has no head')
  const [own, ofResponses] = [toComponents(components.components), toComponents(components.responseComponents)]
  return { ...head, operations, responses, components: own, responseComponents: ofResponses }
}

/** Returns the plan without its canary. */
export async function unpackPlan(
  { document, canary: _canary, ...revision }: PackedPlan,
  pace?: Pace,
): Promise<RoutePlan> {
  return { ...revision, ...(await unpackDocument(document, pace)) }
}

export function toCanaryPlan({ canary: _canary, memberOfProductIds: _products, ...plan }: PackedPlan): CanaryPlan {
  return plan
}

export function withoutDocuments({ document: _document, canary, ...plan }: PackedPlan): PlanHead {
  if (canary === undefined) return plan
  const { document: _ofCanary, ...planOfCanary } = canary.plan
  return { ...plan, canary: { rule: canary.rule, plan: planOfCanary } }
}

/** Returns the bytes of the packed documents. */
export function packedBytes({ document, canary }: Pick<PackedPlan, 'document' | 'canary'>): number {
  return document.byteLength + (canary?.plan.document.byteLength ?? 0)
}

/** Returns the size that the compressed form states for the documents. */
export function unpackedBytes({ document, canary }: Pick<PackedPlan, 'document' | 'canary'>): number {
  return sizeOf(document) + (canary === undefined ? 0 : sizeOf(canary.plan.document))
}

function sizeOf(document: Uint8Array): number {
  if (document.byteLength < SIZE_BYTES) return 0
  const { buffer, byteOffset, byteLength } = document
  return new DataView(buffer, byteOffset, byteLength).getUint32(byteLength - SIZE_BYTES, true)
}

type Section = readonly [string, (readonly [string, unknown])[]]

/** From entries, because a member may be named `__proto__`. */
function toComponents(sections: readonly Section[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(sections.map(([section, members]) => [section, Object.fromEntries(members)]))
}
