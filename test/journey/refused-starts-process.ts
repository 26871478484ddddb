/**
 * Starts the service in this process with the settings of each line of the input (JSON), and answers each with a line: the code and the
 * lines on stderr with which `src/main.ts` would end.
 */

import { createInterface } from 'node:readline'
import { startApp } from '../../src/app/app.ts'
import { ConfigError, readConfig } from '../../src/app/config.ts'
import { createLog } from '../../src/foundation/runtime/log.ts'
import { refusalOf, StartRefused } from '../../src/foundation/runtime/start-refused.ts'

for await (const line of createInterface({ input: process.stdin })) {
  const lines = await refusedLines(JSON.parse(line) as Record<string, string>)
  const code = lines.length === 0 ? 0 : 2
  process.stdout.write(`${JSON.stringify({ code, lines: lines.map((each) => `tollgate: ${each}`) })}\n`)
}

async function refusedLines(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  try {
    const config = readConfig(['--empty'], env)
    await (await startApp({ config, log: createLog(config.logLevel) })).stop()
    return []
  } catch (cause) {
    if (cause instanceof ConfigError) return cause.lines
    const refused = refusalOf(env['DATA_DIR']!, cause)
    if (!(refused instanceof StartRefused)) throw cause
    return refused.message.split('\n')
  }
}
