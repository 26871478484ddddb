/**
 * Makes a reference data folder for upgrades: `node test/upgrade/make-data-folder.ts CHECKOUT COMMIT`.
 *
 * Starts the service of a checkout (with its dependencies installed), fills its data folder through its API, restarts it, and
 * ends it with SIGKILL soon after, so that the spool holds records that nothing has read yet. Writes `COMMIT.tar.zst` and
 * `COMMIT.json` to `test/fixtures/upgrade`. What a later version has to find is read from a second start of the same checkout
 * on a copy.
 */

import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPlatformClient, type PlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { createService, type Service } from '../journey/service.ts'
import { pack } from './archive.ts'
import { PUBLIC_GATEWAY_URL, type Fixture } from './fixture.ts'
import { startNeighbours } from './neighbours.ts'
import { fillDataFolder, lastCalls, type Client } from './scenario.ts'
import { readState } from './state.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/upgrade')
const PACKED_BYTES_MAX = 1_000_000
/** Line items are sums over windows of this length. */
const WINDOW_MS = 10_000

const [checkout, commit] = process.argv.slice(2)
if (checkout === undefined || commit === undefined || !existsSync(join(checkout, 'src/main.ts'))) {
  process.stderr.write('usage: node test/upgrade/make-data-folder.ts CHECKOUT COMMIT\n')
  process.exit(2)
}
const path = join(FIXTURES, commit)
if (existsSync(`${path}.json`)) throw new Error(`${path}.json exists; a reference is never replaced`)

const options = {
  main: join(checkout, 'src/main.ts'),
  env: {
    ADMIN_CLIENT_ID: '',
    ADMIN_CLIENT_SECRET: '',
    GATEWAY_URL: PUBLIC_GATEWAY_URL,
    ALLOW_PRIVATE_ADDRESSES: 'webhooks',
    REQUEST_LOG: 'all',
  },
}
const neighbours = await startNeighbours()
const service = await createService(options)
const copy = await createService(options)
try {
  const from = toWindow(Date.now())
  await service.start()
  const admin = printedCredential(service)
  const clientOf = (credential: Client): PlatformClient => createPlatformClient({ ...service, ...credential })
  const { gatewayUrl } = service
  const filled = await fillDataFolder({ gatewayUrl, platform: clientOf(admin), clientOf, neighbours })
  // What came before is in ClickHouse then; what follows is in the spool alone.
  await service.stop()
  await service.start()
  await lastCalls(gatewayUrl, filled.callers)
  await service.kill()
  const packedAt = new Date().toISOString()
  const to = toWindow(Date.now() + WINDOW_MS)

  cpSync(service.dataDir, copy.dataDir, { recursive: true, verbatimSymlinks: true })
  await copy.start()
  await copy.stop()
  await copy.start()
  const { baseUrl } = copy
  const read = (credential: Client) =>
    readState({ baseUrl, platform: createPlatformClient({ ...copy, ...credential }), from, to })
  const fixture: Fixture = {
    commit,
    from,
    to,
    packedAt,
    admin,
    ...filled,
    state: await read(admin),
    otherState: await read(filled.otherAdmin),
  }
  await copy.stop()

  rmSync(join(service.dataDir, 'lock'), { force: true })
  const bytes = pack(service.dataDir, `${path}.tar.zst`)
  if (bytes > PACKED_BYTES_MAX) throw new Error(`the packed folder has ${bytes} bytes, over ${PACKED_BYTES_MAX}`)
  writeFileSync(`${path}.json`, `${JSON.stringify(withoutLater(fixture), null, 1)}\n`)
  process.stdout.write(`${path}.tar.zst: ${bytes} bytes, ${fixture.state.lineItems.length} line items\n`)
} finally {
  await copy.remove()
  await service.remove()
  await neighbours.close()
}

function toWindow(timeMs: number): string {
  return new Date(timeMs - (timeMs % WINDOW_MS)).toISOString()
}

/** The credential that a first start prints. */
function printedCredential({ output }: Service): Client {
  const [, clientId = '', clientSecret = ''] = /client id +(\S+)\s+client secret +(\S+)/.exec(output()) ?? []
  return { clientId, clientSecret }
}

/** Leaves out audit entries that the start on the copy has added. */
function withoutLater(fixture: Fixture): Fixture {
  const audit = fixture.state.audit.filter(({ time }) => String(time) <= fixture.packedAt)
  return { ...fixture, state: { ...fixture.state, audit } }
}
