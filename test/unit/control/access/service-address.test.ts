import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  noteServiceAddress,
  readServiceAddress,
  type ServiceAddress,
} from '../../../../src/control/access/service-address.ts'
import { documentKind, RegistryFull, RevisionConflict, type Registry } from '../../../../src/storage/store/registry.ts'
import { openSqliteRegistry, type SqliteRegistry } from '../../../../src/storage/store/sqlite/registry.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const AUTHOR = { tenant: 'acme', consumer: 'system' }
const FILLER_KIND = documentKind<string>('filler', 'hidden')
const addressesOf = (host: string): ServiceAddress => ({
  gatewayUrl: `https://gateway.${host}`,
  baseUrl: `https://platform.${host}`,
})
const [ONE, OTHER] = [addressesOf('one.example'), addressesOf('other.example')]

/** Opens a registry of its own for each start, all on one file. */
function openRegistries(): (bytesMax?: number) => SqliteRegistry {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-address-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return (bytesMax) => {
    const registry = openSqliteRegistry({
      path: join(folder, 'registry.db'),
      clock: createFakeClock(0),
      ...(bytesMax !== undefined && { bytesMax }),
    })
    onTestFinished(() => registry.close())
    return registry
  }
}

/** Changes a document until no change fits, not even one that is shorter than an address. */
async function fill(registry: Registry): Promise<void> {
  let expected = 0
  for (const body of ['x'.repeat(4_096), '']) {
    const change = async (): Promise<never> => {
      for (; ; expected++) {
        await registry.commit(AUTHOR, 'fill', [{ kind: FILLER_KIND, id: 'filler', tenant: 'acme', expected, body }])
      }
    }
    await expect(change()).rejects.toBeInstanceOf(RegistryFull)
  }
}

describe('the address of the service', () => {
  it('is that of the last start, which writes it only if it has changed', async () => {
    const registry = openRegistries()()
    expect(await readServiceAddress(registry)).toBeNull()
    for (const addresses of [ONE, ONE, OTHER, OTHER, ONE]) {
      await noteServiceAddress(registry, AUTHOR, addresses)
      expect(await readServiceAddress(registry)).toEqual(addresses)
    }
    expect(await registry.end()).toBe(3)
  })

  it.each([
    ['none was noted', null],
    ['there is a former one', addressesOf('former.example')],
  ])('is that of one of two starts at the same time, which both go on, if %s', async (_, former) => {
    const open = openRegistries()
    const [one, other] = [open(), open()]
    if (former !== null) await noteServiceAddress(one, AUTHOR, former)
    const before = await one.end()
    const refused: unknown[] = []
    const watched = (registry: Registry): Pick<Registry, 'get' | 'commit'> => ({
      get: registry.get,
      commit: (...commit) =>
        registry.commit(...commit).catch((cause: unknown) => {
          refused.push(cause)
          throw cause
        }),
    })
    // Both read before either writes.
    await Promise.all([
      noteServiceAddress(watched(one), AUTHOR, ONE),
      noteServiceAddress(watched(other), AUTHOR, OTHER),
    ])
    expect(refused).toEqual([expect.any(RevisionConflict)])
    expect(await readServiceAddress(other)).toEqual(ONE)
    expect(await one.end()).toBe(before + 1)
  })

  it('stays the former one if the disk is full, which fails no start', async () => {
    const registry = openRegistries()(400 * 1_024)
    await noteServiceAddress(registry, AUTHOR, ONE)
    await fill(registry)
    await noteServiceAddress(registry, AUTHOR, OTHER)
    expect(await readServiceAddress(registry)).toEqual(ONE)
  })
})
