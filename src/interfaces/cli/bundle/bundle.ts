/**
 * Makes one document of several files: each part that a reference to another file names becomes a component.
 *
 * Path items and what else has no components are copied instead. A reference that cannot be followed stays as it is,
 * with a fault, so that the linter finds it at its place.
 */

import { fieldsOf } from '../../../foundation/json/fields.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import { isInlined, isKind, sectionOf, slotOf, type Kind, type Slot } from './grammar.ts'
import { isFileName, type Loaded } from './load-files.ts'
import { readReference, type Target } from './reference.ts'

/** The files make a document that is too large; the message is one sentence. */
export class BundleFault extends Error {
  override readonly name = 'BundleFault'
}

export interface Bundle {
  readonly document: unknown
  /** Origins of copied parts by their pointer in the document. The rest comes from the file of the document. */
  readonly origins: ReadonlyMap<string, Target>
  /** Sentences by the pointer of a reference that cannot be followed. */
  readonly faults: ReadonlyMap<string, string>
}

interface Component {
  readonly from: Target
  readonly kind: Kind
  readonly section: string
  readonly name: string
}

/** A part that is copied: its origin, and its pointer in the bundle. */
interface At extends Target {
  readonly to: string
  readonly slot: Slot
  /** How many references were replaced by what they name. */
  readonly depth: number
}

const VALUES_MAX = 1_000_000
const CHARACTERS_MAX = 16 * 1024 * 1024
const INLINED_DEPTH_MAX = 16
const NAME_MAX = 80
/** Not the name of a member, and no name at all. */
const RESERVED = /\/(?:__proto__)?$/

export class Bundler {
  readonly #file: string
  readonly #files: ReadonlyMap<string, Loaded>
  readonly #isSwagger: boolean
  readonly #components = new Map<string, Component>()
  /** Names in use, with the last number that was added to them. */
  readonly #names = new Map<string, number>()
  readonly #origins = new Map<string, Target>()
  readonly #faults = new Map<string, string>()
  #values = 0
  #characters = 0

  constructor(file: string, files: ReadonlyMap<string, Loaded>) {
    this.#file = file
    this.#files = files
    this.#isSwagger = fieldsOf(this.#valueOf(file))['swagger'] !== undefined
  }

  bundle(): Bundle {
    const root = this.#valueOf(this.#file)
    const document = this.#copy(root, { file: this.#file, pointer: '', to: '', slot: 'root', depth: 0 })
    // The loop also visits the components that it adds.
    for (const [, { from, kind, section, name }] of this.#components) {
      const to = `${section}/${escapePointer(name)}`
      this.#origins.set(to, from)
      const value = this.#copy(this.#resolve(from), { ...from, to, slot: kind, depth: 0 })
      put(document, [...section.slice(1).split('/'), name], value)
    }
    return { document, origins: this.#origins, faults: this.#faults }
  }

  #valueOf(file: string): unknown {
    const loaded = this.#files.get(file)
    return loaded !== undefined && 'value' in loaded ? loaded.value : undefined
  }

  #resolve({ file, pointer }: Target): unknown {
    const value = this.#valueOf(file)
    return valueAt(value, pointer)
  }

  #copy(value: unknown, at: At): unknown {
    this.#count(value)
    if (at.slot === 'mappedSchema' && isFileName(value)) return this.#follow(value, 'schema', at) ?? value
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((item, index) => this.#copy(item, memberOf(at, String(index), true)))
    const { $ref: reference, ...siblings } = value as Record<string, unknown>
    if (typeof reference === 'string' && isInlined(at.slot)) return this.#inline(reference, siblings, at)
    const target = typeof reference === 'string' && isKind(at.slot) ? this.#follow(reference, at.slot, at) : null
    const entries = Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && target !== null ? target : this.#copy(inner, memberOf(at, key, false)),
    ])
    return Object.fromEntries(entries)
  }

  #count(value: unknown): void {
    this.#values++
    if (typeof value === 'string') this.#characters += value.length
    if (this.#values > VALUES_MAX || this.#characters > CHARACTERS_MAX) {
      const limits = `${VALUES_MAX} values or ${CHARACTERS_MAX} characters`
      throw new BundleFault(`With the files that it refers to, the document has more than ${limits}.`)
    }
  }

  /** Returns the reference in the bundle; null if it stays as it is. */
  #follow(reference: string, kind: Kind, at: At): string | null {
    const target = this.#find(reference, at)
    if (target === null) return null
    if (target.file === this.#file) return toReference(target.pointer)
    const section = sectionOf(kind, this.#isSwagger)
    if (section === null) return this.#refuse(at, 'Swagger 2.0 has no references to parts of this kind.')
    const key = `${kind} ${target.file}#${target.pointer}`
    const component = this.#components.get(key) ?? { from: target, kind, section, name: this.#nameOf(target, section) }
    this.#components.set(key, component)
    return toReference(`${section}/${escapePointer(component.name)}`)
  }

  #inline(reference: string, siblings: object, at: At): unknown {
    const target = this.#find(reference, at)
    // The linter follows references within the document itself.
    if (target === null || (target.file === this.#file && at.file === this.#file))
      return { $ref: reference, ...siblings }
    if (at.depth > INLINED_DEPTH_MAX) {
      this.#refuse(at, 'The references form a cycle or a long chain.')
      return { $ref: reference, ...siblings }
    }
    this.#origins.set(at.to, target)
    const item = this.#copy(this.#resolve(target), { ...at, ...target, depth: at.depth + 1 })
    return { ...fieldsOf(item), ...fieldsOf(this.#copy(siblings, at)) }
  }

  /** Returns null for a reference that cannot be followed, with a fault unless the linter finds it. */
  #find(reference: string, at: At): Target | null {
    if (at.file === this.#file && reference.startsWith('#')) return null
    const target = readReference(reference, at.file)
    if (typeof target === 'string') return this.#refuse(at, target)
    const loaded = this.#files.get(target.file)
    if (loaded === undefined || 'fault' in loaded) return this.#refuse(at, loaded?.fault ?? 'The file was not read.')
    if (this.#resolve(target) !== undefined) return target
    return this.#refuse(at, `${target.file} has no value at #${target.pointer.slice(0, 200)}.`)
  }

  #refuse(at: At, sentence: string): null {
    this.#faults.set(at.slot === 'mappedSchema' ? at.to : `${at.to}/$ref`, sentence)
    return null
  }

  /** A name that is free in the section: that of the part in its file, or that of the file. */
  #nameOf({ file, pointer }: Target, section: string): string {
    const last = pointer === '' ? (file.split('/').at(-1) ?? '').replace(/\.[^.]*$/, '') : pointer.split('/').at(-1)
    const base = `${section}/${(last ?? '').replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, NAME_MAX)}`
    const inUse = fieldsOf(valueAt(this.#valueOf(this.#file), section))
    let count = this.#names.get(base) ?? 0
    let name: string
    do {
      count++
      name = count === 1 ? base : `${base}-${count}`
    } while (Object.hasOwn(inUse, name.slice(section.length + 1)) || this.#names.has(name) || RESERVED.test(name))
    this.#names.set(base, count)
    this.#names.set(name, this.#names.get(name) ?? 1)
    return name.slice(section.length + 1)
  }
}

function memberOf(at: At, key: string, isItem: boolean): At {
  const { file, pointer, to, slot, depth } = at
  const part = `/${escapePointer(key)}`
  // `items` may be a list of schemas.
  const inner = isItem && typeof slot === 'string' ? slot : slotOf(slot, key)
  return { file, pointer: pointer + part, to: to + part, slot: inner, depth }
}

/** Percent signs are decoded when a reference is resolved. */
function toReference(pointer: string): string {
  return `#${pointer.replaceAll('%', '%25')}`
}

function valueAt(root: unknown, pointer: string): unknown {
  let value = root
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

function put(root: unknown, path: readonly string[], value: unknown): void {
  let at = root as Record<string, unknown>
  for (const key of path.slice(0, -1)) {
    if (fieldsOf(at[key]) !== at[key]) at[key] = {}
    at = at[key] as Record<string, unknown>
  }
  at[path.at(-1)!] = value
}
