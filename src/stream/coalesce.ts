/**
 * Lets the first of a burst through at once, and what comes after it as one, `gapMs` later.
 *
 * A source that speaks all the time is heard every `gapMs`; one that speaks rarely is heard without
 * delay. Nothing that was said goes unheard: the last word of a burst always leads to an emission.
 */

import { Observable, type OperatorFunction } from 'rxjs'
import type { Clock } from '../runtime/clock.ts'

export function coalesce(gapMs: number, clock: Pick<Clock, 'after'>): OperatorFunction<unknown, void> {
  return (source) =>
    new Observable((subscriber) => {
      let isResting = false
      let isPending = false
      let cancel = (): void => {}

      function emitNow(): void {
        isPending = false
        isResting = true
        cancel = clock.after(gapMs, () => {
          isResting = false
          if (isPending) emitNow()
        })
        subscriber.next()
      }

      subscriber.add(() => cancel())
      subscriber.add(
        source.subscribe({
          next: () => {
            if (isResting) isPending = true
            else emitNow()
          },
          error: (reason) => subscriber.error(reason),
          complete: () => subscriber.complete(),
        }),
      )
    })
}
