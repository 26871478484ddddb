/** The copy of a registry that a node keeps on its disk: it equals the registry at one moment, or it is not used. */

// @module-tag postgres

import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { documentKind, type Document, type Write } from '../../../src/storage/store/registry.ts'
import type { CopyOrigin, RegistryCopy } from '../../../src/storage/store/registry-copy.ts'
import type { Postgres } from '../../../src/storage/store/postgres/open-postgres.ts'
import {
  openOrReplaceCopy,
  openRegistryCopy,
  type UnusableCopy,
} from '../../../src/storage/store/sqlite/registry-copy.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { createRandom } from '../../random.ts'
import { readSeed } from '../../random-seed.ts'
import { AUTHOR, OTHER, THING, write } from './registry-contract-helpers.ts'

const server = usePostgres()

const SEED = readSeed(1)
const LEFT_OUT = documentKind<unknown>('left_out', 'hidden')
const ORIGIN: CopyOrigin = { lineage: 'i-1', fingerprint: 'f-1', gatewayUrl: 'http://gateway', version: '1.0.0' }

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-copy-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'last-good.db')
}

async function openBoth(path = openFolder()) {
  const url = await server.createDatabase()
  const postgres = await openTestPostgres(url)
  const copy = openOrReplaceCopy(path, ORIGIN, () => {})
  let isOpen = true
  const close = (): void => {
    if (isOpen) copy.close()
    isOpen = false
  }
  onTestFinished(close)
  return { url, postgres, copy, path, close }
}

function update(copy: RegistryCopy, { snapshots }: Pick<Postgres, 'snapshots'>): Promise<void> {
  return copy.update((receiver) => snapshots.read(copy.mark, [LEFT_OUT], receiver))
}

function reopen(path: string, origin: Partial<CopyOrigin> = {}): RegistryCopy | UnusableCopy {
  const found = openRegistryCopy(path, { ...ORIGIN, ...origin })
  if (!('fault' in found)) onTestFinished(() => found.close())
  return found
}

function whole(found: RegistryCopy | UnusableCopy): RegistryCopy {
  if ('fault' in found) throw new Error(found.fault)
  return found
}

/** A whole copy in a file that is closed. */
async function keepOne(): Promise<{ path: string } & Pick<Awaited<ReturnType<typeof openBoth>>, 'url' | 'postgres'>> {
  const { postgres, copy, path, url, close } = await openBoth()
  await postgres.registry.commit(AUTHOR, 'make', [write('a', 0, { name: 'Ada' }, { keys: { name: 'ada' } })])
  await update(copy, postgres)
  close()
  return { path, url, postgres }
}

type Reads = Pick<Postgres['registry'], 'get' | 'find' | 'list' | 'search'>

async function readAll(reads: Reads): Promise<unknown> {
  const documents: Document[] = []
  for (const kind of [THING, OTHER]) documents.push(...(await reads.list(kind, { limit: 1_000 })))
  const found = await Promise.all(
    Array.from({ length: 12 }, async (_, value) => [
      await reads.find(THING, 'unique', String(value)),
      await reads.list(THING, { tenant: 'acme', where: { group: String(value % 3) }, limit: 100 }),
      await reads.get(THING, `t${value}`),
    ]),
  )
  return { documents, found }
}

describe('a copy of the registry', () => {
  it('equals the registry after random commits, whenever it is brought up to date', async () => {
    const { next: random } = createRandom(SEED)
    const { postgres, copy } = await openBoth()
    const revisions = new Map<string, number>()
    for (let round = 0; round < 60; round++) {
      const kind = random() < 0.8 ? 'thing' : 'other'
      const id = `t${Math.floor(random() * 12)}`
      const name = `${kind} ${id}`
      const expected = revisions.get(name) ?? 0
      const isRemoved = expected > 0 && random() < 0.25
      const group = String(Math.floor(random() * 3))
      // Some documents are longer than a page of the copy.
      const body = isRemoved ? null : { round, group, text: 'x'.repeat(random() < 0.1 ? 1_200_000 : 10) }
      const keys = { unique: id.slice(1), group }
      const change: Write = {
        kind,
        id,
        tenant: 'acme',
        expected,
        body,
        keys,
        unique: kind === 'thing' ? ['unique'] : [],
      }
      await postgres.registry.commit(AUTHOR, 'change', [change])
      if (isRemoved) revisions.delete(name)
      else revisions.set(name, expected + 1)
      if (random() < 0.3) {
        await update(copy, postgres)
        expect(await readAll(copy.reads), `seed ${SEED}, round ${round}`).toEqual(await readAll(postgres.registry))
      }
    }
    await update(copy, postgres)
    expect(await readAll(copy.reads), `seed ${SEED}`).toEqual(await readAll(postgres.registry))
    expect(copy.mark?.position).toBe(await postgres.registry.end())
  })

  it('leaves out the kinds that no call needs', async () => {
    const { postgres, copy } = await openBoth()
    const commit = (id: string) =>
      postgres.registry.commit(AUTHOR, 'make', [write(id, 0, 1), write(id, 0, 1, { kind: LEFT_OUT })])
    for (const id of ['first', 'later']) {
      await commit(id)
      await update(copy, postgres)
      expect(await copy.reads.get(THING, id)).not.toBeNull()
      expect(await copy.reads.get(LEFT_OUT, id)).toBeNull()
    }
  })

  it('stays as it was if an update fails in the middle', async () => {
    const { postgres, copy, path } = await openBoth()
    await postgres.registry.commit(AUTHOR, 'make', [write('a', 0, 1)])
    await update(copy, postgres)
    const { mark } = copy
    const failing = copy.update(async (receiver) => {
      receiver.clear()
      receiver.receive({ names: [], documents: [], keys: [] })
      throw new Error('the connection was lost')
    })
    await expect(failing).rejects.toThrow('the connection was lost')
    expect(copy.mark).toEqual(mark)
    expect((await copy.reads.get(THING, 'a'))?.body).toBe(1)
    copy.note({ isListed: true })
    expect(whole(reopen(path)).notes.isListed).toBe(true)
  })

  it('is written anew after the registry was restored to an earlier moment', async () => {
    const { url, postgres, copy } = await openBoth()
    await postgres.registry.commit(AUTHOR, 'make', [write('kept', 0, 1)])
    await postgres.registry.commit(AUTHOR, 'make', [write('lost', 0, 1)])
    await update(copy, postgres)
    const undo = `ALTER TABLE change DISABLE TRIGGER ALL; DELETE FROM change WHERE position = 2;
      DELETE FROM document WHERE id = 'lost'; UPDATE change_end SET position = 1`
    await executeSql(url, undo)
    await postgres.registry.commit(AUTHOR, 'make', [write('other', 0, 1)])
    await update(copy, postgres)
    const ids = (await copy.reads.list(THING, { limit: 10 })).map(({ id }) => id)
    expect(ids).toEqual(['kept', 'other'])
  })

  it('keeps what was noted of the node, also while it is being updated', async () => {
    const { postgres, copy, path, close } = await openBoth()
    copy.note({ isListed: true })
    await copy.update(async (receiver) => {
      copy.note({ leaseIdentity: 'l-1' })
      return postgres.snapshots.read(null, [], receiver)
    })
    close()
    expect(whole(reopen(path)).notes).toEqual({ isListed: true, leaseIdentity: 'l-1' })
  })

  it('is readable only by the user of the service', async () => {
    const { path } = await keepOne()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    chmodSync(path, 0o644)
    whole(reopen(path))
    for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})

describe('a copy that is opened to serve from', () => {
  it.each([
    [{ lineage: 'i-2' }, 'belongs to another node'],
    [{ fingerprint: 'f-2' }, 'was written with another MASTER_KEY'],
    [{ gatewayUrl: 'http://other' }, 'was written for GATEWAY_URL http://gateway'],
    [{ version: '2.0.0' }, 'was written by tollgate 1.0.0'],
  ])('is refused with %o', async (other, fault) => {
    const { path } = await keepOne()
    expect(reopen(path, other)).toEqual({ fault, isDamaged: false, isMissing: false })
    whole(reopen(path))
  })

  it('is missing until the first one is complete', async () => {
    const { path, close } = await openBoth()
    close()
    expect(reopen(path)).toMatchObject({ isMissing: true })
    expect(reopen(`${path}.not`)).toMatchObject({ isMissing: true })
  })

  it('is refused if a value in it was changed', async () => {
    const { path } = await keepOne()
    const database = new DatabaseSync(path)
    database.exec(`UPDATE document SET body = replace(body, 'Ada', 'Eve')`)
    database.close()
    expect(reopen(path)).toMatchObject({ isDamaged: true, fault: expect.stringMatching(/checksum/) as string })
  })

  it.each([
    ['torn', (bytes: Buffer) => bytes.subarray(0, 5_000)],
    ['overwritten', (bytes: Buffer) => bytes.fill(7, 4_096, 12_000)],
    ['no database', () => Buffer.from('nothing')],
  ])('is refused if its file is %s, and replaced when the node keeps it again', async (_, damage) => {
    const { path, postgres } = await keepOne()
    writeFileSync(path, damage(readFileSync(path)))
    expect(reopen(path)).toMatchObject({ isDamaged: true })
    const faults: string[] = []
    const copy = openOrReplaceCopy(path, ORIGIN, (fault) => faults.push(fault))
    expect(faults).toEqual([expect.stringContaining('is damaged')])
    await update(copy, postgres)
    copy.close()
    expect((await whole(reopen(path)).reads.get(THING, 'a'))?.body).toEqual({ name: 'Ada' })
  })

  it('is refused if an older file was put back, which would bring back what was revoked', async () => {
    const { path, postgres } = await keepOne()
    copyFileSync(path, `${path}.old`)
    const copy = whole(openRegistryCopy(path, ORIGIN))
    await postgres.registry.commit(AUTHOR, 'revoke', [write('a', 1, null)])
    await update(copy, postgres)
    copy.close()
    copyFileSync(`${path}.old`, path)
    expect(reopen(path)).toMatchObject({
      isDamaged: false,
      fault: expect.stringMatching(/^lacks the last 1 /) as string,
    })
  })

  it('is refused while it lacks a change that the node has told others to serve', async () => {
    const { path, postgres } = await keepOne()
    const copy = whole(openRegistryCopy(path, ORIGIN))
    copy.expect(2)
    expect(reopen(path)).toMatchObject({
      isMissing: false,
      fault: expect.stringMatching(/^lacks the last 1 /) as string,
    })
    await postgres.registry.commit(AUTHOR, 'revoke', [write('a', 1, null)])
    await update(copy, postgres)
    copy.close()
    expect(await whole(reopen(path)).reads.get(THING, 'a')).toBeNull()
  })
})
