/**
 * Resolves pointers to positions in the text of a document: line and column of the name of a member, or of an item.
 *
 * Resolves all pointers in one pass, so that many findings in a large document cost as much as one.
 */

import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml'
import type { TextPlace } from '../../../foundation/domain/problem.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import { parseLargeYaml } from '../large-yaml.ts'
import { DEPTH_MAX, YAML_BYTES_FULL } from '../parse-document.ts'

export type PlaceOf = (pointer: string) => TextPlace

const START: TextPlace = { line: 1, column: 1 }
const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP] = [34, 92, 44, 91, 93, 123, 125]
const COLON = 58

/** A pointer that does not exist gets the place of its closest existing ancestor. */
export function findPlaces(text: string, isJson: boolean, pointers: Iterable<string>): PlaceOf {
  const wanted = new Set<string>()
  for (const pointer of pointers) {
    for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) wanted.add(at)
  }
  const offsets = isJson ? offsetsInJson(text, wanted) : offsetsInYaml(text, wanted)
  const lines = lineStarts(text)
  return (pointer) => {
    for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
      const offset = offsets.get(at)
      if (offset !== undefined) return placeAt(lines, offset)
    }
    return START
  }
}

/** Expects valid JSON: the text was parsed before. */
function offsetsInJson(text: string, wanted: ReadonlySet<string>): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>()
  /** For each open bracket: its pointer, or null if nothing below it is wanted, and the index of the next list item. */
  const open: { readonly pointer: string | null; item: number }[] = []
  let name: { readonly pointer: string | null } | null = null

  function enter(offset: number, isList: boolean): void {
    const pointer = open.length === 0 ? '' : name !== null ? name.pointer : itemAt(offset)
    name = null
    open.push({ pointer, item: isList ? 0 : -1 })
  }

  /** Returns the pointer of the list item that begins here; null if it is not wanted. */
  function itemAt(offset: number): string | null {
    const parent = open.at(-1)
    if (parent === undefined || parent.pointer === null || parent.item < 0) return null
    return record(`${parent.pointer}/${parent.item}`, offset)
  }

  function record(pointer: string, offset: number): string | null {
    if (!wanted.has(pointer)) return null
    offsets.set(pointer, offset)
    return pointer
  }

  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case OPEN_MAP:
        enter(index, false)
        break
      case OPEN_LIST:
        enter(index, true)
        break
      case CLOSE_MAP:
      case CLOSE_LIST:
        open.pop()
        name = null
        break
      case COMMA: {
        const parent = open.at(-1)
        if (parent !== undefined && parent.item >= 0) parent.item++
        name = null
        break
      }
      case QUOTE: {
        const end = endOfString(text, index)
        const parent = open.at(-1)
        if (parent !== undefined && parent.item < 0 && name === null && isName(text, end)) {
          const key = parent.pointer === null ? '' : (JSON.parse(text.slice(index, end + 1)) as string)
          name = { pointer: parent.pointer === null ? null : record(`${parent.pointer}/${escapePointer(key)}`, index) }
        } else if (name === null) itemAt(index)
        index = end
        break
      }
    }
  }
  return offsets
}

function endOfString(text: string, from: number): number {
  let index = from + 1
  while (index < text.length && text.charCodeAt(index) !== QUOTE) index += text.charCodeAt(index) === BACKSLASH ? 2 : 1
  return index
}

function isName(text: string, end: number): boolean {
  let index = end + 1
  while (index < text.length && /\s/.test(text[index]!)) index++
  return text.charCodeAt(index) === COLON
}

function offsetsInYaml(text: string, wanted: ReadonlySet<string>): ReadonlyMap<string, number> {
  if (text.length > YAML_BYTES_FULL) return parseLargeYaml(text, { depthMax: DEPTH_MAX, wanted }).offsets
  const offsets = new Map<string, number>()
  const document = parseDocument(text, {
    version: '1.2',
    uniqueKeys: false,
    stringKeys: true,
    lineCounter: new LineCounter(),
  })

  function walk(node: Node | null, pointer: string): void {
    const at = isAlias(node) ? (node.resolve(document) ?? null) : node
    if (isSeq<Node>(at)) at.items.forEach((item, index) => step(`${pointer}/${index}`, item.range?.[0], item))
    else if (isMap<Node, Node | null>(at)) {
      for (const { key, value } of at.items) {
        if (isScalar(key)) step(`${pointer}/${escapePointer(String(key.value))}`, key.range?.[0], value)
      }
    }
  }

  function step(pointer: string, offset: number | undefined, node: Node | null): void {
    if (!wanted.has(pointer)) return
    if (offset !== undefined) offsets.set(pointer, offset)
    walk(node, pointer)
  }

  walk(document.contents, '')
  return offsets
}

function lineStarts(text: string): readonly number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function placeAt(starts: readonly number[], offset: number): TextPlace {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= offset) low = middle
    else high = middle - 1
  }
  return { line: low + 1, column: offset - starts[low]! + 1 }
}
