/** Client of the control socket: `tollgate backup` uses it to freeze the data folder of a running service. Throws `StartRefused`. */

import { connect, type Socket } from 'node:net'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { socketPath } from './control-socket.ts'
import { readLines, sendLine, type Command, type Frozen, type Reply } from './line-protocol.ts'

export interface ControlClient {
  freeze(): Promise<Frozen>
  resume(): Promise<void>
  release(): Promise<void>
  close(): void
}

export async function connectToService(dataDir: string): Promise<ControlClient> {
  const socket = await open(dataDir)
  const replies: Reply[] = []
  let onReply: (() => void) | null = null
  let isClosed = false
  const wake = (): void => {
    onReply?.()
    onReply = null
  }
  readLines(socket, (message) => {
    replies.push(message as Reply)
    wake()
  })
  socket.on('error', () => socket.destroy())
  socket.once('close', () => {
    isClosed = true
    wake()
  })

  /** The service may send a refusal at any time, also without a request; it has then released everything. */
  async function request(command: Command): Promise<Reply> {
    sendLine(socket, { ask: command })
    while (replies.length === 0 && !isClosed) await new Promise<void>((resolve) => (onReply = resolve))
    const reply = replies.shift()
    if (reply === undefined) throw new StartRefused('the service stopped during the backup; try again')
    if (reply.reply === 'refused') throw new StartRefused(`the service refused the backup: ${reply.reason}`)
    return reply
  }

  return {
    async freeze() {
      const reply = await request('freeze')
      if (reply.reply !== 'frozen') throw new Error(`unexpected reply ${reply.reply}`)
      return reply.frozen
    },
    resume: async () => void (await request('resume')),
    release: async () => void (await request('release')),
    close: () => socket.destroy(),
  }
}

function open(dataDir: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect(socketPath(dataDir))
  socket.once('connect', () => resolve(socket))
  socket.once('error', (cause: NodeJS.ErrnoException) =>
    reject(
      new StartRefused(
        `${dataDir} is in use, but its process does not accept connections on ${socketPath(dataDir)} (${cause.code ?? cause.message}); ` +
          'wait until the service is ready, and run this command as the user of the service, on its machine or in its container',
        { cause },
      ),
    ),
  )
  return promise
}
