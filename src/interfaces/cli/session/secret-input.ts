/** Reads a secret: typed without an echo on a terminal, a line of standard input otherwise. Never from an argument. */

import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import { CommandFailed } from '../exit-codes.ts'
import type { Io } from '../io.ts'

const SECRET_CHARACTERS_MAX = 4_096

export async function readSecret(label: string, io: Io): Promise<string> {
  return (await readSecrets([label], io))[0] ?? ''
}

/** Reads a line for each label. */
export async function readSecrets(labels: readonly string[], { stdin, err }: Io): Promise<readonly string[]> {
  const isTerminal = stdin.isTTY === true
  // The terminal does not echo while the output of the line editor goes nowhere.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: nowhere, terminal: isTerminal })
  const secrets: string[] = []
  try {
    const next = lineReader(lines)
    for (const label of labels) {
      if (isTerminal) err.write(`${label}: `)
      const line = await next()
      if (isTerminal) err.write('\n')
      if (line === null || line === '')
        throw new CommandFailed(`${label}: type it, or send it as a line on standard input.`)
      if (line.length > SECRET_CHARACTERS_MAX) throw new CommandFailed(`${label}: it is too long.`)
      secrets.push(line)
    }
  } finally {
    lines.close()
  }
  return secrets
}

/** Returns null after the last line, and after Ctrl-C. */
function lineReader(lines: Interface): () => Promise<string | null> {
  const waiting: string[] = []
  let isOver = false
  let wake: (() => void) | null = null
  lines.on('line', (line) => {
    waiting.push(line)
    wake?.()
  })
  const end = (): void => {
    isOver = true
    wake?.()
  }
  lines.on('close', end)
  lines.on('SIGINT', end)
  return async () => {
    while (waiting.length === 0 && !isOver) await new Promise<void>((resolve) => (wake = resolve))
    return waiting.shift() ?? null
  }
}
