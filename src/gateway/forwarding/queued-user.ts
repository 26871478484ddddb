/** The fields by which the queues of a backend keep their members. */

import type { Timed } from '../../foundation/runtime/deadline-queue.ts'
import type { SlotUser } from '../backend/backend-slots.ts'

export abstract class QueuedUser {
  previous: Timed | null = null
  next: Timed | null = null
  dueAt = 0
  slotAt = 0
  slotNext: SlotUser | null = null
  slotPrevious: SlotUser | null = null
  isSlotHeld = false
}
