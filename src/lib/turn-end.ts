/** What is to be done when the events of one turn of the event loop have been read. */
export interface TurnEndTask {
  /** One that throws costs those behind it a turn, and no more. */
  onTurnEnd(): void;
}

let tasks: TurnEndTask[] = [];

/**
 * Calls the task once, when all sockets that were readable in this turn have been read, in the order of the calls; what
 * a task asks for itself comes in the next turn. Writes are what this is for: each one that finds its reader asleep has
 * to wake it, which costs more than the write. Those that follow one another at once find it awake.
 */
export function atTurnEnd(task: TurnEndTask): void {
  if (tasks.push(task) === 1) setImmediate(runTasks);
}

function runTasks(): void {
  const due = tasks;
  tasks = [];
  let done = 0;
  try {
    for (const task of due) {
      done += 1;
      task.onTurnEnd();
    }
  } finally {
    if (done < due.length) for (const task of due.slice(done)) atTurnEnd(task);
  }
}
