/** Nodes have one MASTER_KEY, because they share its secrets. */

// @module-tag postgres
// @module-tag redis-server

import { expect, it, onTestFinished } from 'vitest'
import { createService } from './service.ts'
import { startSeveralNodes } from './several-nodes.ts'

const TIMEOUT = { timeout: 120_000 }

it('A node with another MASTER_KEY is refused beside live nodes, and also without them', TIMEOUT, async () => {
  const several = await startSeveralNodes(['a', 'b'])
  onTestFinished(() => several.remove())
  const [first, second] = several.nodes
  const start = async (): Promise<string> => {
    const env = { ...several.settings, NODE_NAME: 'a', MASTER_KEY: 'cd'.repeat(32) }
    const other = await createService({ args: ['--empty'], env, dataDir: first!.dataDir })
    return other.start().then(
      () => 'started',
      (cause: unknown) => String(cause),
    )
  }
  await first!.stop()
  expect(await start()).toMatch(/ended with 2\n.*MASTER_KEY/s)
  await second!.stop()
  expect(await start()).toMatch(/ended with 2\n.*the master key does not open the stored secrets/s)
})
