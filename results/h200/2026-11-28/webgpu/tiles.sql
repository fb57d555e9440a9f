select device.arch as device, problem.op, problem.m||'x'||problem.n||case problem.k when 0 then '' else 'x'||problem.k end||case problem.words when '' then '' else ','||problem.words end as shape,
 count(*) as tried,
 round((select m2.median_ns from trial t2 join measurement m2 on m2.trial_id=t2.id join sweep s2 on s2.id=t2.sweep_id where s2.problem_id=problem.id and s2.device_id=device.id and m2.state='cold' and m2.stage='screen' and t2.outcome='ok' order by t2.id limit 1)/1000,2) as default_us,
 round(min(measurement.median_ns)/1000,2) as best_us, round(max(measurement.median_ns)/1000,1) as worst_us
from trial join measurement on measurement.trial_id=trial.id join sweep on sweep.id=trial.sweep_id join problem on problem.id=sweep.problem_id join device on device.id=sweep.device_id
where measurement.state='cold' and measurement.stage='screen' and trial.outcome='ok' and device.arch='wgpu-nvidia'
group by problem.id, device.id order by problem.op, problem.n, problem.m;
