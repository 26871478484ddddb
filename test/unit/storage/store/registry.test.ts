import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  documentKind,
  isOfKind,
  shownFields,
  type Document,
  type DocumentKind,
  type Registry,
} from '../../../../src/storage/store/registry.ts'

interface BookBody {
  readonly title: string
}

interface ShelfBody {
  readonly books: number
}

const BOOK = documentKind<BookBody>('book', ['title'])
const SHELF = documentKind<ShelfBody>('shelf', 'hidden')

const document = (kind: string, body: unknown): Document => ({
  kind,
  id: 'one',
  tenant: 'acme',
  revision: 1,
  body,
  createdAtMs: 0,
  updatedAtMs: 0,
})

/** Calls that only the compiler checks; none of them runs. */
export async function readBodies({ get, find, list }: Registry): Promise<unknown[]> {
  const book: Document<BookBody> | null = await get(BOOK, 'one')
  // @ts-expect-error: a book has no number of books
  const shelf: Document<ShelfBody> | null = await get(BOOK, 'one')
  // @ts-expect-error: the body that a read names must be that of the kind
  const named = await find<ShelfBody>(BOOK, 'title', 'Emma')
  // @ts-expect-error: a wider body than that of the kind is refused, too
  const wider = await list<BookBody | ShelfBody>(BOOK, { limit: 1 })
  // @ts-expect-error: a plain string has no body type
  const plain = await get('book', 'one')
  // @ts-expect-error: the handle of one kind does not stand for another
  const handle: DocumentKind<ShelfBody> = BOOK
  // @ts-expect-error: the audit log cannot show a field that the body lacks
  const author = documentKind<BookBody>('novel', ['author'])
  // @ts-expect-error: nor the state of a body without a machine
  const state = documentKind<BookBody>('play', ['state'])
  return [book, shelf, named, wider, plain, handle, author, state]
}

describe('a document kind', () => {
  it('equals the stored name', () => {
    expect(`${BOOK} ${SHELF}`).toBe('book shelf')
  })

  it('lists the fields that the audit log may show', () => {
    const shown = shownFields()
    expect(shown.get('book')).toEqual(['title'])
    expect(shown.has('shelf')).toBe(false)
  })

  it('cannot be declared twice', () => {
    expect(() => documentKind<BookBody>('book', 'hidden')).toThrow('declared twice')
  })

  it('narrows a document of the change feed to its body', () => {
    const changed = document('book', { title: 'Emma' })

    expect(isOfKind(changed, BOOK) ? changed.body.title : null).toBe('Emma')
    expect(isOfKind(changed, SHELF)).toBe(false)
  })
})

describe('document kinds of the service', () => {
  const src = join(import.meta.dirname, '../../../../src')
  const texts = globSync('**/*.ts', { cwd: src })
    .filter((file) => file !== 'storage/store/registry.ts')
    .map((file) => readFileSync(join(src, file), 'utf8'))
  const calls = texts.flatMap((text) => [...text.matchAll(/\bdocumentKind[<(].*/g)].map(([call]) => call))
  const declared = texts.flatMap((text) =>
    [...text.matchAll(/^(?:export )?const \w+_KIND = documentKind<[^\n]+>\(\s*'(\w+)',/gm)].map(([, name]) => name),
  )

  it('are constants at module level', () => {
    expect(calls.length).toBeGreaterThan(30)
    expect(declared).toHaveLength(calls.length)
  })

  it('are each declared once', () => {
    expect(declared.filter((name, index) => declared.indexOf(name) !== index)).toEqual([])
  })
})
