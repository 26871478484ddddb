/** A ClickHouse server that does not answer a service that stops. */

import type { ClickHouseClient } from '@clickhouse/client'
import { askRepeatedly } from '../../../foundation/runtime/ask-repeatedly.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'

export interface GivesUp {
  /** Closes the connections to a server: running statements fail, and so do later ones. Does nothing to the engine of this process. */
  giveUp(): void
}

export interface Asked extends GivesUp, Pick<ClickHouseClient, 'command'> {
  readonly isEmbedded: boolean
}

/** Lets statements of a client fail at once after its server was given up. */
export function withGiveUp<Client extends ClickHouseClient>(client: Client): Client & GivesUp {
  let isGivenUp = false
  const unlessGivenUp = <Send extends (...args: never[]) => Promise<unknown>>(send: Send): Send =>
    ((...args: Parameters<Send>) =>
      isGivenUp ? Promise.reject(new ServerGivenUp()) : send.apply(client, args)) as unknown as Send
  return Object.assign(client, {
    query: unlessGivenUp(client.query),
    command: unlessGivenUp(client.command),
    exec: unlessGivenUp(client.exec),
    insert: unlessGivenUp(client.insert),
    giveUp() {
      isGivenUp = true
      // Statements that run fail with their connections.
      void client.close()
    },
  })
}

class ServerGivenUp extends Error {
  override readonly name = 'ServerGivenUp'

  constructor() {
    super('the ClickHouse server did not answer, and this service stops')
  }
}

/**
 * From now on, all clients give up a server that leaves a question unanswered for five seconds, so that the parts of the service do not
 * wait for it one after another. The returned function ends the questions. The engine of this process always answers.
 */
export function giveUpIfSilent(clients: readonly [Asked, ...GivesUp[]], clock: Pick<Clock, 'after'>): () => void {
  const [first] = clients
  if (first.isEmbedded) return () => {}
  const isAnswer = (): true => true
  const ask = (): Promise<boolean> => first.command({ query: 'SELECT 1' }).then(isAnswer, isAnswer)
  return askRepeatedly({ ask, clock, onUnanswered: () => clients.forEach((client) => client.giveUp()) })
}
