/** The parts of a data folder whose loss an operator can accept, and the command that does it. */

export const LOSS_PARTS = ['registry', 'checkpoint', 'store', 'spool'] as const
export type LossPart = (typeof LOSS_PARTS)[number]

/** Returns the remedy that ends the message of a refused start. */
export function acceptLossCommand(part: LossPart, dataDir: string): string {
  return `accept the loss with: npx tollgate recover --accept-loss ${part} --data-dir ${dataDir}`
}
